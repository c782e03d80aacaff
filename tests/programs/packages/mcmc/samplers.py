import numpy as np


class Metropolis:
    def __init__(self, log_prob, scale=1.0, *, random_state=None, tune_every=20, args=()):
        if not callable(log_prob):
            raise TypeError("log_prob must be callable")
        self.log_prob = log_prob
        self.args = args
        self.scale = scale
        self.random = (
            random_state
            if isinstance(random_state, np.random.RandomState)
            else np.random.RandomState(random_state)
        )
        self.tune_every = tune_every
        self.accepted = 0
        self.total = 0

    def _tune(self, rate):
        if rate < 0.05:
            self.scale *= 0.5
        elif rate < 0.2:
            self.scale *= 0.9
        elif rate > 0.75:
            self.scale *= 2.0
        elif rate > 0.5:
            self.scale *= 1.1

    def sample(self, x0, n, tune=0):
        x = np.array(x0, dtype=float)
        lp = self.log_prob(x, *self.args)
        if not np.isfinite(lp):
            raise ValueError("Initial state has zero probability")
        chain = np.empty((n, x.size))
        recent = 0
        for i in range(n + tune):
            proposal = x + self.scale * self.random.standard_normal(x.size)
            new = self.log_prob(proposal, *self.args)
            if np.log(self.random.uniform()) < new - lp:
                x, lp = proposal, new
                self.accepted += 1
                recent += 1
            self.total += 1
            if i < tune and (i + 1) % self.tune_every == 0:
                self._tune(recent / self.tune_every)
                recent = 0
            if i >= tune:
                chain[i - tune] = x
        return chain

    @property
    def acceptance_fraction(self):
        return self.accepted / self.total


class EnsembleSampler:
    """Affine invariant stretch moves of walkers."""

    def __init__(self, nwalkers, ndim, log_prob_fn, a=2.0, args=None, kwargs=None):
        if nwalkers < 2 * ndim:
            raise ValueError("The number of walkers needs to be more than twice the dimension")
        if nwalkers % 2:
            raise ValueError("The number of walkers must be even")
        self.nwalkers, self.ndim = nwalkers, ndim
        self.a = a
        self.log_prob_fn = log_prob_fn
        self.args = args or []
        self.kwargs = kwargs or {}
        self.naccepted = np.zeros(nwalkers)

    def compute_log_prob(self, coords):
        results = np.array([self.log_prob_fn(p, *self.args, **self.kwargs) for p in coords])
        if np.any(np.isnan(results)):
            raise ValueError("Probability function returned NaN")
        return results

    def run(self, coords, uniforms, partners):
        coords = np.array(coords)
        log_prob = self.compute_log_prob(coords)
        half = self.nwalkers // 2
        chain = np.zeros((len(uniforms), self.nwalkers, self.ndim))
        for it, (u, pick) in enumerate(zip(uniforms, partners)):
            for split in range(2):
                s = slice(0, half) if split == 0 else slice(half, None)
                c = slice(half, None) if split == 0 else slice(0, half)
                zz = ((self.a - 1.0) * u[split, 0] + 1) ** 2.0 / self.a
                other = coords[c][pick[split]]
                q = other - (other - coords[s]) * zz[:, None]
                new = self.compute_log_prob(q)
                diff = (self.ndim - 1.0) * np.log(zz) + new - log_prob[s]
                accepted = np.log(u[split, 1]) < diff
                coords[s][accepted] = q[accepted]
                log_prob[s][accepted] = new[accepted]
                self.naccepted[s] += accepted
            chain[it] = coords
        return chain, log_prob


def gaussian(x, mean, precision):
    d = x - mean
    return -0.5 * d @ precision @ d


def sample_gaussian(x0, mean, precision, n=60, tune=40, seed=1):
    sampler = Metropolis(gaussian, 0.5, random_state=seed, args=(mean, precision))
    chain = sampler.sample(x0, n, tune)
    return chain, sampler.acceptance_fraction, sampler.scale


def stretch(coords, uniforms, partners, mean, precision):
    sampler = EnsembleSampler(*coords.shape, gaussian, args=[mean, precision])
    chain, log_prob = sampler.run(coords, uniforms, partners)
    return chain, log_prob, sampler.naccepted

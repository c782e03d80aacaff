import numpy as np


def wolff_step(spins, site, uniforms, beta):
    """Flips the cluster that grows from one site; the caller's spins are changed."""
    n, m = spins.shape
    p = 1 - np.exp(-2 * beta)
    sign = spins[site]
    stack = [tuple(site)]
    seen = np.zeros(spins.shape, dtype=bool)
    seen[site] = True
    k = 0
    while stack:
        i, j = stack.pop()
        for a, b in (((i + 1) % n, j), ((i - 1) % n, j), (i, (j + 1) % m), (i, (j - 1) % m)):
            if spins[a, b] == sign and not seen[a, b]:
                if uniforms[k % len(uniforms)] < p:
                    seen[a, b] = True
                    stack.append((a, b))
                k += 1
    spins[seen] *= -1
    return int(seen.sum())

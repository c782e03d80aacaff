import numpy as np


class Optimizer:
    def __init__(self, lr=0.01, clip=None):
        if lr <= 0:
            raise ValueError("learning rate must be positive")
        self.lr, self.clip = lr, clip
        self.cache = {}

    def step(self, layers):
        for i, layer in enumerate(layers):
            for name, grad in layer.grads.items():
                if self.clip is not None:
                    norm = np.linalg.norm(grad)
                    if norm > self.clip:
                        grad = grad * (self.clip / norm)
                self.update((i, name), layer.params[name], grad)

    def update(self, key, param, grad):
        raise NotImplementedError


class SGD(Optimizer):
    def __init__(self, lr=0.01, momentum=0.9, **kwargs):
        super().__init__(lr, **kwargs)
        self.momentum = momentum

    def update(self, key, param, grad):
        if key not in self.cache:
            self.cache[key] = np.zeros_like(param)
        v = self.cache[key]
        v *= self.momentum
        v -= self.lr * grad
        param += v


class RMSProp(Optimizer):
    def update(self, key, param, grad):
        g2 = self.cache.setdefault(key, np.zeros_like(param))
        g2[:] = 0.9 * g2 + 0.1 * grad**2
        param -= self.lr * grad / (np.sqrt(g2) + 1e-8)


class Adam(Optimizer):
    def __init__(self, lr=0.01, betas=(0.9, 0.999), eps=1e-8, **kwargs):
        super().__init__(lr, **kwargs)
        self.betas, self.eps = betas, eps
        self.t = 0

    def step(self, layers):
        self.t += 1
        super().step(layers)

    def update(self, key, param, grad):
        m, v = self.cache.get(key, (0.0, 0.0))
        b1, b2 = self.betas
        m = b1 * m + (1 - b1) * grad
        v = b2 * v + (1 - b2) * grad**2
        self.cache[key] = m, v
        mhat, vhat = m / (1 - b1**self.t), v / (1 - b2**self.t)
        param -= self.lr * mhat / (np.sqrt(vhat) + self.eps)

import numpy as np


class Layer:
    params: dict
    grads: dict

    def __init__(self):
        self.params = {}
        self.grads = {}
        self.training = True

    def forward(self, x):
        raise NotImplementedError

    def backward(self, grad):
        raise NotImplementedError

    def __call__(self, x):
        return self.forward(x)


class Dense(Layer):
    def __init__(self, n_in, n_out, rng):
        super().__init__()
        self.params["W"] = rng.normal(scale=np.sqrt(2.0 / n_in), size=(n_in, n_out))
        self.params["b"] = np.zeros(n_out)

    def forward(self, x):
        if x.shape[-1] != self.params["W"].shape[0]:
            raise ValueError(f"expected {self.params['W'].shape[0]} features, got {x.shape[-1]}")
        self.x = x
        return x @ self.params["W"] + self.params["b"]

    def backward(self, grad):
        self.grads["W"] = self.x.T @ grad
        self.grads["b"] = grad.sum(axis=0)
        return grad @ self.params["W"].T


class Activation(Layer):
    functions = {
        "relu": (lambda x: np.maximum(x, 0), lambda x, y: (x > 0).astype(x.dtype)),
        "tanh": (np.tanh, lambda x, y: 1 - y**2),
        "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), lambda x, y: y * (1 - y)),
    }

    def __init__(self, name):
        super().__init__()
        self.function, self.derivative = self.functions[name]

    def forward(self, x):
        self.x = x
        self.y = self.function(x)
        return self.y

    def backward(self, grad):
        return grad * self.derivative(self.x, self.y)


class Dropout(Layer):
    def __init__(self, rate, rng):
        super().__init__()
        if not 0 <= rate < 1:
            raise ValueError("rate must be in [0, 1)")
        self.rate, self.rng = rate, rng

    def forward(self, x):
        if not self.training:
            return x
        self.mask = (self.rng.random_sample(x.shape) >= self.rate) / (1 - self.rate)
        return x * self.mask

    def backward(self, grad):
        return grad * self.mask


class BatchNorm(Layer):
    def __init__(self, n, momentum=0.9, eps=1e-5):
        super().__init__()
        self.params = {"gamma": np.ones(n), "beta": np.zeros(n)}
        self.running_mean = np.zeros(n)
        self.running_var = np.ones(n)
        self.momentum, self.eps = momentum, eps

    def forward(self, x):
        if self.training:
            mean, var = x.mean(axis=0), x.var(axis=0)
            self.running_mean *= self.momentum
            self.running_mean += (1 - self.momentum) * mean
            self.running_var *= self.momentum
            self.running_var += (1 - self.momentum) * var
        else:
            mean, var = self.running_mean, self.running_var
        self.std = np.sqrt(var + self.eps)
        self.xhat = (x - mean) / self.std
        return self.params["gamma"] * self.xhat + self.params["beta"]

    def backward(self, grad):
        n = len(grad)
        self.grads["gamma"] = (grad * self.xhat).sum(axis=0)
        self.grads["beta"] = grad.sum(axis=0)
        dxhat = grad * self.params["gamma"]
        total = dxhat.sum(axis=0) + self.xhat * (dxhat * self.xhat).sum(axis=0)
        return (dxhat - total / n) / self.std


class Conv2D(Layer):
    def __init__(self, filters):
        super().__init__()
        self.params["W"] = filters

    def forward(self, x):
        W = self.params["W"]
        n, h, w = x.shape
        k = W.shape[1]
        out = np.zeros((n, h - k + 1, w - k + 1, len(W)))
        for i in range(h - k + 1):
            for j in range(w - k + 1):
                region = x[:, i : i + k, j : j + k]
                out[:, i, j] = np.tensordot(region, W, axes=([1, 2], [1, 2]))
        return out


class MaxPool(Layer):
    def forward(self, x):
        n, h, w, c = x.shape
        out = np.zeros((n, h // 2, w // 2, c))
        for i in range(h // 2):
            for j in range(w // 2):
                out[:, i, j] = np.amax(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2], axis=(1, 2))
        return out


class Flatten(Layer):
    def forward(self, x):
        self.shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, grad):
        return grad.reshape(self.shape)

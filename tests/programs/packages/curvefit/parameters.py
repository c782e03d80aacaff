import numpy as np


class Parameter:
    def __init__(self, name, value=0.0, vary=True, min=-np.inf, max=np.inf):
        self.name = name
        self.min, self.max = min, max
        self.vary = vary
        self.stderr = None
        self.value = value

    @property
    def value(self):
        return self._value

    @value.setter
    def value(self, value):
        if value < self.min:
            value = self.min
        elif value > self.max:
            value = self.max
        self._value = value

    def __repr__(self):
        return f"<Parameter {self.name!r}, value={self.value}>"


class Parameters(dict):
    def add(self, name, value=0.0, **kwargs):
        if name in self:
            raise KeyError(f"{name} is there already")
        self[name] = Parameter(name, value, **kwargs)
        return self

    @property
    def free(self):
        return [p for p in self.values() if p.vary]

    def valuesdict(self):
        return {name: p.value for name, p in self.items()}

    def vector(self):
        return np.array([p.value for p in self.free])

    def assign(self, vector):
        for p, v in zip(self.free, vector):
            p.value = v

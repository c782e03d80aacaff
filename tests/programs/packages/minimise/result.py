class OptimizeResult(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError as e:
            raise AttributeError(name) from e

    __setattr__ = dict.__setitem__

    def __dir__(self):
        return list(self.keys())


def wrap_function(function, args):
    ncalls = [0]

    def function_wrapper(x, *wrapper_args):
        ncalls[0] += 1
        return function(x, *(wrapper_args + args))

    return ncalls, function_wrapper

"""Attempts to be given the program of another function: a module is run twice, with something
changed that Python code can see, and one cache. Every second result must be that of the second
module, by whatever way it was found.
"""

from __future__ import annotations

import builtins
import functools
import os
import sys
import textwrap
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.runtime.cache import Cache

# Each defines `f` of an array; V is 1.0 in the first module and 2.0 in the second one.
ATTEMPTS = {
    "constant": "def f(x): return x * {V}",
    "global": "K = V\ndef f(x): return x * K",
    "default": "def f(x, k=V): return x * k",
    "keyword default": "def f(x, *, k=V): return x * k",
    "closure": "def make(k):\n  def f(x): return x * k\n  return f\nf = make(V)",
    "nested closure": (
        "def make(k):\n  def g(y):\n    return lambda x: x * k + y\n  return g(0.0)\nf = make(V)"
    ),
    "helper": "def g(x): return x * {V}\ndef f(x): return g(x)",
    "list": "K = [V]\ndef f(x): return x * K[0]",
    "dict": "K = {{'a': V}}\ndef f(x): return x * K['a']",
    "array": "K = np.array([V])\ndef f(x): return x * K",
    "private method of a dataclass": """
        @dataclasses.dataclass
        class D:
            a: float = 1.0
            def _scale(self): return self.a * {V}
        D_ = D()
        def f(x): return x * D_._scale()
    """,
    "data of an enum": """
        class E(enum.Enum):
            A = 1
            def __init__(self, value): self.k = V
        def f(x): return x * E.A.k
    """,
    "keyword-only fields": """
        D = dataclasses.make_dataclass('D', [('a', float), ('b', float, dataclasses.field(
            kw_only=V == 1.0, default=5.0)), ('c', float, dataclasses.field(default=7.0))])
        def f(x): return x * D(1.0, 2.0).b
    """,
    "order of InitVars": """
        @dataclasses.dataclass
        class D:
            __annotations__ = dict.fromkeys(
                ['a', 'b'] if V == 1.0 else ['b', 'a'], dataclasses.InitVar[float])
            def __post_init__(self, first, second): self.k = first - 3 * second
        def f(x): return x * D(a=1.0, b=2.0).k
    """,
    "match arguments": """
        class C:
            __match_args__ = ('a',) if V == 1.0 else ('b',)
            a, b = 1.0, 2.0
        def f(x):
            match C():
                case C(k): return x * k
    """,
    "match on a value": """
        class N: K = V
        def f(x):
            match 1.0:
                case N.K: return x
            return -x
    """,
    "slots": """
        class C:
            __slots__ = ('a',)
        C_ = C()
        C_.a = V
        def f(x): return x * C_.a
    """,
    "class attribute": "class C: K = V\ndef f(x): return x * C.K",
    "instance attribute": "class C: pass\nC_ = C()\nC_.k = V\ndef f(x): return x * C_.k",
    "property": """
        class C:
            @property
            def k(self): return {V}
        C_ = C()
        def f(x): return x * C_.k
    """,
    "metaclass": """
        class M(type):
            def __getattr__(cls, name): return V
        class C(metaclass=M): pass
        def f(x): return x * C.k
    """,
    "bound method": "class C:\n  def f(self, x): return x * {V}\nf = C().f",
    "callable object": "class C:\n  def __call__(self, x): return x * {V}\nf = C()",
    "namedtuple": "P = collections.namedtuple('P', 'k')(V)\ndef f(x): return x * P.k",
    "memoized helper": """
        @functools.cache
        def g(): return STATE[0]
        STATE = [V]
        g()
        STATE[0] = 5.0
        def f(x): return x * g()
    """,
    "file": "def f(x): return x * np.load(FILE)[0]",
    "memory map": "def f(x): return x * np.lib.format.open_memmap(FILE)[0]",
    "record file": "def f(x): return x * np.rec.fromfile(RAW, formats='f8')[0][0]",
    "sparse file": "def f(x): return x * scipy.sparse.load_npz(SPARSE).toarray()[0, 0]",
    "text file": "def f(x): return x * float(pathlib.Path(TEXT).read_text())",
    "draw": "def f(x):\n  np.random.seed(int(V))\n  return x * np.random.uniform(1, 2)",
    "sparse draw": """
        def f(x): return x * scipy.sparse.random(2, 2, 1.0, random_state=SEED).toarray()[0, 0]
        SEED = np.random.default_rng(int(V))
    """,
    "module's dict": "def f(x): return x * cfg.__dict__['K']",
    "module": "def f(x): return x * cfg.K",
    "module passed on": "def g(m, x): return x * m.K\ndef f(x): return g(cfg, x)",
    "attrgetter": "def f(x): return x * operator.attrgetter('K')(cfg)",
    "attrgetter made before": "G = operator.attrgetter('K')\ndef f(x): return x * G(cfg)",
    "getattr": "def f(x): return x * getattr(cfg, 'K')",
    "getattribute": "def f(x): return x * object.__getattribute__(cfg, 'K')",
    "format": "def f(x): return x * float('{{0.K}}'.format(cfg))",
    "format map": "def f(x): return x * float('{{c.K}}'.format_map(dict(c=cfg)))",
    "match on a module": "def f(x):\n  match 1.0:\n    case cfg.K: return x\n  return -x",
    "globals": "K = V\ndef f(x): return x * globals()['K']",
    "eval": "K = V\ndef f(x): return x * eval('K')",
    "function's globals": "K = V\ndef f(x): return x * f.__globals__['K']",
    "import": "def f(x):\n  import cfg_module\n  return x * cfg_module.K",
    "vars": "def f(x): return x * vars(cfg)['K']",
    "pi": "def f(x): return x * np.pi",
    "ufunc put in place of another": "def f(x): return np.tanh(x)",
    "function of the user in NumPy": "def f(x): return np.log1p(x)",
    "function of NumPy in a submodule": "def f(x): return np.linalg.norm(x)",
    "builtin": "def f(x): return x * divmod(7, 2)[0]",
    "builtins of a function": """
        def g(x): return x * max(1, 2)
        import types
        f = types.FunctionType(g.__code__, {{'__builtins__': {{'max': lambda a, b: V}}}})
    """,
    "function attribute": "def g(): pass\ng.k = V\ndef f(x): return x * g.k",
    "own attribute": "def f(x): return x * f.k\nf.k = V",
    "docstring": "def g(): '{V}'\ndef f(x): return x * float(g.__doc__)",
    "annotation": "def g(a: V): pass\ndef f(x): return x * g.__annotations__['a']",
    "name": "def g(): pass\ng.__name__ = 'g' * int(V)\ndef f(x): return x * len(g.__name__)",
    "flags of an array": (
        "K = np.ones(1)\nK.flags.writeable = V == 1.0\n"
        "def f(x): return x * (1.0 if K.flags.writeable else 2.0)"
    ),
    "strides of an array": (
        "K = np.ones((2, 2), order='C' if V == 1.0 else 'F')\ndef f(x): return x * K.strides[0]"
    ),
    "iterator": "I = iter([V, 5.0])\ndef f(x): return x * next(I)",
    "generator": "G = (k for k in [V])\ndef f(x): return x * sum(G)",
    "partial": "def g(k, x): return x * k\nf = functools.partial(g, V)",
    "attribute of a partial": """
        p = functools.partial(max, 0)
        p.k = V
        def f(x): return x * p.k
    """,
    "decorator with state": """
        def scaled(k):
            def decorate(g):
                @functools.wraps(g)
                def wrapper(x): return g(x) * k
                return wrapper
            return decorate
        @scaled(V)
        def f(x): return x
    """,
    "environment": "def f(x): return x * float(os.environ['WEFT_TEST_K'])",
    "context variable": (
        "import contextvars\nC = contextvars.ContextVar('c', default=V)\n"
        "def f(x): return x * C.get()"
    ),
    "descriptor": """
        class D:
            def __get__(self, instance, owner): return V
        class C: k = D()
        C_ = C()
        def f(x): return x * C_.k
    """,
    "subclass of a number": """
        class F(float):
            def __rmul__(self, other): return other * V
        K = F(1.0)
        def f(x): return x * K
    """,
    "subclass of an array": """
        class A(np.ndarray):
            def scale(self): return V
        K = np.ones(1).view(A)
        def f(x): return x * K.scale()
    """,
    "subclass of a dict": """
        class D(dict):
            def __missing__(self, key): return V
        K = D()
        def f(x): return x * K['a']
    """,
    "set": "K = {{V}}\ndef f(x): return x * sum(K)",
    "global through a lambda in a list": "K = V\nL = [lambda x: x * K]\ndef f(x): return L[0](x)",
    "static argument of an inner jit": "g = wf.jit(lambda x, k: x * k, static_argnums=1)\n"
    "def f(x): return g(x, V)",
    "inner jit": "g = wf.jit(lambda x: x * {V})\ndef f(x): return g(x)",
    "custom derivative": """
        @wf.custom_jvp
        def g(x): return x * 1.0
        g.defjvp(lambda p, t: (g(*p), t[0] * V))
        f = wf.grad(lambda x: np.sum(g(x)))
    """,
    "function of this package replaced": "def f(x): return x * wf.stop_gradient(x)[0]",
    "name of an argument": """
        def g(**kw): return [len(name) for name in kw][0]
        def f(x): return x * g(**{{'a' * int(V): 1}})
    """,
    "module with a name of this package": """
        M = type(np)('weft.part')
        M.real = V
        def f(x): return x * M.real
    """,
    "module of this package replaced": "def f(x): return wf.numpy.tanh(x)",
    "error state": """
        def f(x):
            try:
                np.float64(1.0) / np.float64(0.0)
            except FloatingPointError:
                return x * 2.0
            return x
    """,
    "nonlocal counter": """
        def make():
            n = V
            def f(x):
                nonlocal n
                n += 1
                return x * n
            return f
        f = make()
    """,
    "conditional module": """
        M = cfg if V == 1.0 else other
        def f(x): return x * (M if x.ndim else cfg).K
    """,
    "star import of a value": "exec('from cfg_module import *')\ndef f(x): return x * K",
    "complex number": "K = complex(V, 0)\ndef f(x): return x * K.real",
    "sign of zero": "K = 0.0 * (1.5 - V)\ndef f(x): return np.copysign(x, K)",
    "kind of a number": "K = 1 if V == 1.0 else True\ndef f(x): return x * (2 if K is True else 1)",
    "exception of a namespace without a name": """
        N = {{}}
        exec('class Stop(Exception):\\n  def __init__(self, a): self.real = a * {V}', N)
        Stop = N['Stop']
        def f(x):
            try: raise Stop(3.0)
            except Stop as e: return x * e.real
    """,
    "how arrays are printed": "A = np.array([1 / 3])\ndef f(x): return x * len(str(A))",
    "kind of an integer": """
        K = np.array([1], 'l' if V == 1.0 else 'q')
        def f(x): return x * (1.0 if isinstance(K[0], np.int64) else 2.0)
    """,
    "dtype of an integer": """
        K = np.dtype('l' if V == 1.0 else 'q')
        def f(x): return x * (1.0 if isinstance(np.ones(1, K)[0], np.int64) else 2.0)
    """,
    "identity of a string": """
        A = 'a b'
        B = A if V == 1.0 else ' '.join(['a', 'b'])
        def f(x): return x * (1.0 if A is B else 2.0)
    """,
    "identity of a default": """
        A = (None,)
        def f(x, k=A if V == 1.0 else tuple([None])): return x * (1.0 if k is not A else 2.0)
    """,
    "NaN in a list": """
        N = float('nan')
        L = [N if V == 1.0 else float('nan')]
        def f(x): return x * (1.0 if N in L else 2.0)
    """,
    "key that is NaN": """
        N = float('nan')
        D = {{N if V == 1.0 else float('nan'): 1.0}}
        def f(x): return x * D.get(N, 2.0)
    """,
    "memory that arrays share": """
        A = np.ones(3)
        B = A[1:] if V == 1.0 else A[1:].copy()
        def f(x):
            A[1] = 9.0
            r = x * B[0]
            A[1] = 1.0
            return r
    """,
    "memory that buffers share": """
        M = bytearray(np.ones(3).tobytes())
        A, B = np.frombuffer(M), np.frombuffer(M if V == 1.0 else bytearray(M))
        def f(x):
            A[1] = 9.0
            r = x * B[1]
            A[1] = 1.0
            return r
    """,
    "class that says it is NumPy's": """
        class float32(np.float64):
            __module__ = 'numpy'
            def __new__(cls, x): return np.float64.__new__(cls, x * V)
        def f(x): return x * float(float32(1.0))
    """,
    "attribute of an inner jit": """
        g = wf.jit(lambda x: x)
        g.real = V
        def f(x): return g(x) * g.real
    """,
    "attribute of a custom derivative": """
        @wf.custom_jvp
        def g(x): return x * 1.0
        g.defjvp(lambda p, t: (g(*p), t[0]))
        g.real = V
        def f(x): return g(x) * g.real
    """,
    "attribute of a function of NumPy": "def f(x): return x * np.mean.real",
    "attribute of a function of this package": "def f(x): return x * wf.stop_gradient.real",
    "wrapper of a function of NumPy": "def f(x): return np.sum(x)",
    "handler of errors": """
        def f(x):
            try: np.ones(1) / np.zeros(1)
            except KeyError: return x * 2.0
            return x
    """,
    "handler of warnings": """
        def f(x):
            try: np.log(np.zeros(1))
            except KeyError: return x * 2.0
            return x
    """,
    "order of a dict": (
        "K = dict([('a', 1.0), ('b', 2.0)][:: 1 if V == 1.0 else -1])\n"
        "def f(x): return x * next(iter(K.values()))"
    ),
}


def namespace(value: float, folder: Path) -> dict[str, Any]:
    """What both modules see, written or set by value."""
    import collections
    import dataclasses
    import enum
    import functools
    import operator
    import pathlib
    import sys
    import types

    import scipy.sparse

    paths = {name: str(folder / name) for name in ("k.npy", "k.raw", "k.txt", "k.npz")}
    np.save(paths["k.npy"], np.array([value]))
    np.array([value]).tofile(paths["k.raw"])
    Path(paths["k.txt"]).write_text(str(value))
    scipy.sparse.save_npz(paths["k.npz"], scipy.sparse.csr_array(np.array([[value]])))
    cfg, other = types.ModuleType("cfg_module"), types.ModuleType("other_module")
    cfg.__dict__["K"], other.__dict__["K"] = value, 3 * value
    sys.modules["cfg_module"] = cfg
    sys.modules["attempt"] = types.ModuleType("attempt")
    names = {"V": value, "np": np, "wf": wf, "os": os, "cfg": cfg, "other": other}
    names |= {"FILE": paths["k.npy"], "RAW": paths["k.raw"], "TEXT": paths["k.txt"]}
    names |= {"SPARSE": paths["k.npz"], "scipy": scipy, "__name__": "attempt"}
    for module in (collections, dataclasses, enum, functools, operator, pathlib):
        names[module.__name__] = module
    return names


def wrapped(function: Any, factor: float) -> Any:
    """A function of NumPy's with something around it that says it is the same."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) * factor

    wrapper.__dict__["_implementation"] = function._implementation
    return wrapper


def passes(*_: Any, **__: Any) -> None:
    """A handler of errors or warnings that lets the program go on."""


def fails(*_: Any, **__: Any) -> None:
    """One that does not."""
    raise KeyError


def set_state(name: str, value: float, patch: pytest.MonkeyPatch) -> None:
    """What is changed outside of both modules for an attempt."""
    is_second = value == 2.0
    handler = fails if is_second else passes
    replaced = types.ModuleType("weft.numpy")
    replaced.__dict__["tanh"] = np.sin if is_second else np.cos
    wf.stop_gradient  # noqa: B018  # loads it, so that it can be replaced
    changes: dict[str, tuple[Any, str, Any]] = {
        "pi": (np, "pi", value),
        "ufunc put in place of another": (np, "tanh", np.sin if is_second else np.cos),
        "function of the user in NumPy": (np, "log1p", lambda x: x * value),
        "function of NumPy in a submodule": (np.linalg, "norm", np.sum if is_second else np.max),
        "builtin": (builtins, "divmod", lambda a, b: (value,)),
        "function of this package replaced": (wf, "stop_gradient", lambda x: x * value),
    }
    changes |= {
        "attribute of a function of NumPy": (np.mean, "real", value),
        "attribute of a function of this package": (wf.stop_gradient, "real", value),
        "wrapper of a function of NumPy": (np, "sum", wrapped(np.sum, value)),
        "module of this package replaced": (wf, "numpy", replaced),
        "handler of warnings": (warnings, "showwarning", handler),
    }
    if name in changes:
        patch.setattr(*changes[name], raising=False)
    if name == "wrapper of a function of NumPy":
        patch.setattr(sys.modules["numpy._core.fromnumeric"], "sum", np.sum)
    patch.setenv("WEFT_TEST_K", str(value))
    # All else stays as it is: what differs anyway would hide what an attempt shows.
    if name == "error state":
        np.seterr(divide="raise" if is_second else "ignore")
    if name == "how arrays are printed":
        np.set_printoptions(precision=3 if is_second else 8)
    if name == "handler of errors":
        np.seterr(divide="call")
        np.seterrcall(handler)
    if name == "handler of warnings":
        np.seterr(divide="warn")
        warnings.simplefilter("always")


@pytest.mark.filterwarnings("ignore::weft.FrozenValueWarning")
@pytest.mark.parametrize("name", ATTEMPTS)
def test_second_module_gets_its_own_result(name: str, disk: Cache, tmp_path: Path) -> None:
    x = np.array([0.5, 1.5, 2.5])
    notes = []
    for value in (1.0, 2.0, 2.0):
        source = textwrap.dedent(ATTEMPTS[name]).format(V=value)
        names, plain = namespace(value, tmp_path), namespace(value, tmp_path)
        with pytest.MonkeyPatch.context() as patch, np.errstate(), np.printoptions():
            set_state(name, value, patch)
            for each in (names, plain):
                exec(compile(source, "<string>", "exec", dont_inherit=True), each)
            f = wf.jit(names["f"])
            result = f(x)
            reference = wf.trace(plain["f"])(x)
        np.testing.assert_allclose(result, wf.evaluate(reference, [x])[0], rtol=1e-14)
        notes.append(f.explain_cache())
    if name not in ("nonlocal counter",):
        assert "found on disk" in notes[2], notes

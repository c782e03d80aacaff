"""What a function finds outside of its arguments may change between calls: the next call gives what
NumPy gives then, or a warning said before that it would not.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import enum
import functools
import itertools
import linecache
import math
import os
import pathlib
import random
import secrets
import threading
import time
import types
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.frontends.driver.frozen import places
from weft.runtime.cache import Cache

# Each defines `f` of an array; the second text runs between two calls.
CHANGES: dict[str, tuple[str, str]] = {
    "global": ("G = 1.0\ndef f(x): return x * G", "G = 2.0"),
    "kind of a global": ("G = 1\ndef f(x): return x // 2 * G / 3", "G = True"),
    "sign of zero": ("G = 0.0\ndef f(x): return np.copysign(x, G)", "G = -0.0"),
    "global of another kind": ("G = 1.0\ndef f(x): return x * G", "G = np.arange(4.0)"),
    "global text": ("G = 'sin'\ndef f(x): return np.sin(x) if G == 'sin' else x", "G = 'cos'"),
    "global function": ("def g(x): return x\ndef f(x): return g(x)", "def g(x): return x + 1"),
    "helper's global": ("G = 1.0\ndef g(x): return x * G\ndef f(x): return g(x)", "G = 2.0"),
    "global of a lambda inside": ("G = 1.0\ndef f(x): return (lambda y: y * G)(x)", "G = 2.0"),
    "alias of a function of NumPy": ("act = np.sin\ndef f(x): return act(x)", "act = np.cos"),
    "closure": (
        "def make():\n  k = 1.0\n  def f(x): return x * k\n  def set(v):\n    nonlocal k\n"
        "    k = v\n  return f, set\nf, set = make()",
        "set(2.0)",
    ),
    "helper in a closure": (
        "def make():\n  g = np.sin\n  def f(x): return g(x)\n  def set(v):\n    nonlocal g\n"
        "    g = v\n  return f, set\nf, set = make()",
        "set(lambda x: x + 1)",
    ),
    "lambda of a loop": ("fs = [lambda x: x * k for k in (1.0, 2.0)]\nf = fs[0]",
                         "f.__closure__[0].cell_contents = 3.0"),
    "array": ("A = np.ones(4)\ndef f(x): return x * A", "A[2] = 5.0"),
    "another array": ("A = np.ones(4)\ndef f(x): return x * A", "A = np.zeros(4)"),
    "shape of an array": (
        "A = np.arange(4.0)\ndef f(x): return x.reshape(2, 2) @ A.reshape(2, -1)",
        "A = np.ones(2)",
    ),
    "view of an array": ("B = np.ones(8)\nA = B[::2]\ndef f(x): return x * A", "B[:] = 3.0"),
    "large array": ("A = np.ones((4, 5000))\ndef f(x): return x @ A", "A *= 2"),
    "frozen array": (
        "A = np.ones(4)\nA.flags.writeable = False\ndef f(x): return x * A", "A = A * 2"),
    "array of ints": ("I = np.array([0, 1])\ndef f(x): return x[I]", "I[0] = 3"),
    "masked array": (
        "M = np.ma.masked_array(np.ones(4), mask=[0, 0, 1, 0])\n"
        "def f(x): return np.where(M.mask, 0.0, x)",
        "M[0] = np.ma.masked",
    ),
    "weft array": ("A = wf.Array(np.ones(4))\ndef f(x): return x * A", "A[1] = 5.0"),
    "list": ("L = [1.0, 2.0]\ndef f(x): return x * L[1]", "L[1] = 3.0"),
    "length of a list": ("L = [1.0]\ndef f(x): return x * len(L)", "L.append(1.0)"),
    "list in a list": ("L = [[1.0]]\ndef f(x): return x * L[0][0]", "L[0][0] = 3.0"),
    "list in a tuple": ("T = ([1.0],)\ndef f(x): return x * T[0][0]", "T[0][0] = 3.0"),
    "dict": ("D = {'a': 1.0}\ndef f(x): return x * D['a']", "D['a'] = 2.0"),
    "keys of a dict": ("D = {'a': 1.0}\ndef f(x): return x * sum(D.values())", "D['b'] = 2.0"),
    "order of a dict": (
        "D = {'a': 1.0, 'b': 2.0}\ndef f(x): return x * next(iter(D.values()))",
        "D['a'] = D.pop('a')",
    ),
    "set": ("S = {1, 2}\ndef f(x): return x * (3 in S)", "S.add(3)"),
    "deque": ("Q = collections.deque([1.0])\ndef f(x): return x * Q[0]", "Q[0] = 2.0"),
    "defaultdict": ("D = collections.defaultdict(float, a=1.0)\ndef f(x): return x * D['a']",
                    "D['a'] = 2.0"),
    "pytree": (
        "P = {'w': np.ones(4), 'b': [np.zeros(4)]}\ndef f(x): return x * P['w'] + P['b'][0]",
        "P['b'][0] += 1.0",
    ),
    "mutable default": ("def f(x, k=[1.0]): return x * k[0]", "f.__defaults__[0][0] = 2.0"),
    "mutable keyword default": (
        "def f(x, *, k={'a': 1.0}): return x * k['a']", "f.__kwdefaults__['k']['a'] = 2.0"),
    "default": ("def f(x, k=1.0): return x * k", "f.__defaults__ = (2.0,)"),
    "bound method": (
        "class C:\n  k = 1.0\n  def m(self, x): return x * self.k\nc = C()\nc.k = 1.5\nf = c.m",
        "c.k = 2.0",
    ),
    "attribute in a helper method": (
        "class C:\n  def __init__(self): self.k = 1.0\n  def h(self): return self.k\n"
        "  def m(self, x): return x * self.h()\nc = C()\nf = c.m",
        "c.k = 2.0",
    ),
    "class attribute": ("class C: k = 1.0\ndef f(x): return x * C.k", "C.k = 2.0"),
    "class attribute of an instance": (
        "class C: k = 1.0\nc = C()\ndef f(x): return x * c.k", "C.k = 2.0"),
    "attribute of a base class": (
        "class B: k = 1.0\nclass C(B): pass\nc = C()\ndef f(x): return x * c.k", "B.k = 2.0"),
    "instance in the way of its class": (
        "class C: k = 1.0\nc = C()\ndef f(x): return x * c.k", "c.k = 2.0"),
    "method of a class": (
        "class C:\n  def m(self, x): return x\nc = C()\ndef f(x): return c.m(x)",
        "C.m = lambda self, x: x + 1",
    ),
    "method of an instance": (
        "class C:\n  def m(self, x): return x\nc = C()\ndef f(x): return c.m(x)",
        "c.m = lambda x: x + 1",
    ),
    "special method": (
        "class C:\n  def __call__(self, x): return x\nc = C()\ndef f(x): return c(x)",
        "C.__call__ = lambda self, x: x + 1",
    ),
    "static method": (
        "class C:\n  @staticmethod\n  def m(x): return x\ndef f(x): return C.m(x)",
        "C.m = staticmethod(lambda x: x + 1)",
    ),
    "class method": (
        "class C:\n  k = 1.0\n  @classmethod\n  def m(cls, x): return x * cls.k\n"
        "def f(x): return C.m(x)",
        "C.k = 2.0",
    ),
    "property": (
        "class C:\n  _k = 1.0\n  @property\n  def k(self): return self._k\nc = C()\n"
        "def f(x): return x * c.k",
        "c._k = 2.0",
    ),
    "slots": (
        "class C:\n  __slots__ = ('k',)\nc = C()\nc.k = 1.0\ndef f(x): return x * c.k",
        "c.k = 2.0",
    ),
    "attribute of an attribute": (
        "class C: pass\nc = C()\nc.d = C()\nc.d.k = 1.0\ndef f(x): return x * c.d.k",
        "c.d.k = 2.0",
    ),
    "array of an object": (
        "class C: pass\nc = C()\nc.w = np.ones(4)\ndef f(x): return x * c.w", "c.w[1] = 5.0"),
    "activation of an object": (
        "class C: pass\nc = C()\nc.g = np.sin\ndef f(x): return c.g(x)", "c.g = np.cos"),
    "new object": (
        "class C:\n  def __init__(self, k): self.k = k\nc = C(1.0)\ndef f(x): return x * c.k",
        "c = C(2.0)",
    ),
    "object made inside": (
        "K = 1.0\nclass C:\n  def __init__(self): self.k = K\ndef f(x): return x * C().k",
        "K = 2.0",
    ),
    "callable object": (
        "class C:\n  def __init__(self): self.k = 1.0\n  def __call__(self, x): return x * self.k\n"
        "f = C()",
        "f.k = 2.0",
    ),
    "operator of an object": (
        "class C:\n  def __init__(self): self.k = 1.0\n  def __add__(self, x): return x + self.k\n"
        "c = C()\ndef f(x): return c + 1.0 + x",
        "c.k = 2.0",
    ),
    "dataclass": (
        "@dataclasses.dataclass\nclass D:\n  k: float = 1.0\nd = D()\ndef f(x): return x * d.k",
        "d.k = 2.0",
    ),
    "fields of a dataclass": (
        "@dataclasses.dataclass\nclass D:\n  k: float = 1.0\nd = D()\n"
        "def f(x): return x * sum(dataclasses.astuple(d))",
        "d.k = 2.0",
    ),
    "getattr": (
        "class C: pass\nc = C()\nc.k = 1.0\ndef f(x): return x * getattr(c, 'k')", "c.k = 2.0"),
    "vars": ("class C: pass\nc = C()\nc.k = 1.0\ndef f(x): return x * vars(c)['k']", "c.k = 2.0"),
    "own getattribute": (
        "class C:\n  def __getattribute__(self, n): return object.__getattribute__(self, n)\n"
        "c = C()\nc.k = 1.0\ndef f(x): return x * c.k",
        "c.k = 2.0",
    ),
    "attribute of a function": ("def f(x): return x * f.k\nf.k = 1.0", "f.k = 2.0"),
    "module": ("cfg.k = 1.0\ndef f(x): return x * cfg.k", "cfg.k = 2.0"),
    "module passed on": (
        "cfg.k = 1.0\ndef g(m, x): return x * m.k\ndef f(x): return g(cfg, x)", "cfg.k = 2.0"),
    "getattr with a default": (
        "class C: pass\nc = C()\nc.a = 0\ndef f(x): return x * getattr(c, 'k', 1.0)", "c.k = 2.0"),
    "hasattr": (
        "class C: pass\nc = C()\nc.a = 0\ndef f(x): return x * (2 if hasattr(c, 'k') else 1)",
        "c.k = 2.0",
    ),
    "global that comes later": (
        "def f(x):\n  try: return x * G\n  except NameError: return x", "G = 2.0"),
    "dynamic attribute": (
        "S = {'k': 1.0}\nclass C:\n  def __getattr__(self, n): return S[n]\nc = C()\n"
        "def f(x): return x * c.k",
        "S['k'] = 2.0",
    ),
    "descriptor": (
        "class K:\n  v = 1.0\n  def __get__(self, o, t): return self.v\nclass C: k = K()\nc = C()\n"
        "def f(x): return x * c.k",
        "vars(C)['k'].v = 2.0",
    ),
    "cached property": (
        "class C:\n  k = 1.0\n  @functools.cached_property\n  def h(self): return self.k\nc = C()\n"
        "def f(x): return x * c.h",
        "c.h = 2.0",
    ),
    "super": (
        "class B:\n  k = 1.0\n  def m(self, x): return x * self.k\nclass C(B):\n"
        "  def m(self, x): return super().m(x) + 1\nf = C().m",
        "B.k = 2.0",
    ),
    "class made inside": (
        "G = 1.0\ndef f(x):\n  class C: k = G\n  return x * C.k", "G = 2.0"),
    "attrgetter": (
        "import operator\ncfg.k = 1.0\ndef f(x): return x * operator.attrgetter('k')(cfg)",
        "cfg.k = 2.0",
    ),
    "attrgetter made before": (
        "import operator\ncfg.k = 1.0\ng = operator.attrgetter('k')\ndef f(x): return x * g(cfg)",
        "cfg.k = 2.0",
    ),
    "imported inside": (
        "import sys\nsys.modules['weft_cfg'] = cfg\ncfg.k = 1.0\n"
        "def f(x):\n  from weft_cfg import k\n  return x * k",
        "cfg.k = 2.0",
    ),
    "module imported inside": (
        "import sys\nsys.modules['weft_cfg'] = cfg\ncfg.k = 1.0\n"
        "def f(x):\n  import weft_cfg as c\n  return x * c.k",
        "cfg.k = 2.0",
    ),
    "modules in a dict": (
        "M = {'a': cfg}\ncfg.k = 1.0\ndef f(x): return x * M['a'].k", "cfg.k = 2.0"),
    "object in a list": (
        "class C: pass\nL = [C()]\nL[0].k = 1.0\ndef f(x): return x * L[0].k", "L[0].k = 2.0"),
    "function in a dict": (
        "G = 1.0\nD = {'g': lambda x: x * G}\ndef f(x): return D['g'](x)", "G = 2.0"),
    "function by name of a class": (
        "G = 1.0\nclass C:\n  @classmethod\n  def make(cls): return cls()\n"
        "  def k(self): return G\ndef f(x): return x * C.make().k()",
        "G = 2.0",
    ),
    "singledispatch": (
        "G = 1.0\n@functools.singledispatch\ndef g(n): return n\n@g.register\n"
        "def _(n: int): return n * G\ndef f(x): return x * g(3)",
        "G = 2.0",
    ),
    "partial": (
        "def g(k, x): return x * k[0]\nK = [1.0]\nf = functools.partial(g, K)", "K[0] = 2.0"),
    "decorator": (
        "G = 1.0\ndef twice(g):\n  @functools.wraps(g)\n  def h(x): return g(g(x))\n  return h\n"
        "@twice\ndef f(x): return x * G",
        "G = 2.0",
    ),
    "memoized helper's argument": (
        "G = 1\n@functools.cache\ndef g(n): return n * 2.0\ndef f(x): return x * g(G)", "G = 2"),
    "jit inside": ("G = 1.0\n@wf.jit\ndef g(x): return x * G\ndef f(x): return g(x)", "G = 2.0"),
    "gradient": (
        "G = 1.0\ndef g(x): return np.sum(x * x * G)\nf = wf.grad(g)", "G = 2.0"),
    "value and gradient": (
        "G = 1.0\ndef g(x): return np.sum(x * x * G)\nv = wf.value_and_grad(g)\n"
        "def f(x): return v(x)[1]",
        "G = 2.0",
    ),
    "batched": ("G = 1.0\nf = wf.vmap(lambda x: x * G)", "G = 2.0"),
    "custom derivative": (
        "G = 1.0\n@wf.custom_jvp\ndef g(x): return x * G\ng.defjvp(lambda p, t: (g(*p), t[0]))\n"
        "def f(x): return g(x)",
        "G = 2.0",
    ),
    "scan": (
        "G = 1.0\ndef f(x): return wf.scan(lambda c, r: (c * G + r, None), 0.0, x)[0]", "G = 2.0"),
    "data of an enum": (
        "class E(enum.Enum):\n  A = 1.0\n  B = 2.0\nG = E.A\ndef f(x): return x * G.value",
        "G = E.B",
    ),
    "named tuple": (
        "P = collections.namedtuple('P', 'k')\np = P([1.0])\ndef f(x): return x * p.k[0]",
        "p.k[0] = 2.0",
    ),
    "function of an object of NumPy's": (
        "G = 1.0\ng = np.vectorize(lambda n: n * G)\ndef f(x): return x * g(np.ones(4))",
        "G = 2.0",
    ),
    "bound method of a list": (
        "L = [1.0]\nget = L.__getitem__\ndef f(x): return x * get(0)", "L[0] = 2.0"),
}  # fmt: skip


def namespace(setup: str) -> dict[str, Any]:
    """The variables of a case."""
    names: dict[str, Any] = {"cfg": types.ModuleType("cfg"), "__name__": __name__}
    modules = (collections, dataclasses, datetime, enum, functools, itertools, math, os, pathlib)
    for module in (*modules, random, secrets, time, uuid, types):
        names[module.__name__] = module
    names |= {"np": np, "wf": wf}
    linecache.cache["case.py"] = len(setup), None, setup.splitlines(True), "case.py"
    exec(compile(setup, "case.py", "exec"), names)
    return names


@pytest.mark.parametrize("name", CHANGES)
def test_changes_are_seen(name: str) -> None:
    setup, change = CHANGES[name]
    names = namespace(setup)
    x = np.array([1.0, 2.0, 3.0, 4.0])
    plain, f = names["f"], wf.jit(names["f"])
    for _ in range(3):
        np.testing.assert_allclose(f(x), plain(x), rtol=1e-12)
    exec(change, names)
    if names["f"] is not plain:
        plain = names["f"]
    before = str(f.why_retraced())
    for _ in range(3):
        np.testing.assert_allclose(np.asarray(f(x)), plain(x), rtol=1e-12)
    assert len(f.why_retraced().splitlines()) == 2, before


@pytest.mark.parametrize("name", ["global", "array", "bound method", "dict"])
def test_without_checks_nothing_is_seen(name: str) -> None:
    setup, change = CHANGES[name]
    names, x = namespace(setup), np.ones(4)
    f = wf.jit(names["f"], check="off")
    first = f(x)
    exec(change, names)
    np.testing.assert_array_equal(f(x), first)


# --- what cannot be guarded ---

# Each defines `f`, which freezes a value while it is traced; the text is in the warning.
FROZEN: dict[str, tuple[str, str]] = {
    "draw": ("def f(x): return x + np.random.rand()", "np.random.rand was drawn once"),
    "draw by name": ("from random import gauss\ndef f(x): return x + gauss(0, 1)", "drawn once"),
    "draw in a helper": (
        "def g(): return random.random()\ndef f(x): return x + g()", "random.random was drawn"),
    "generator": (
        "r = np.random.default_rng(0)\ndef f(x): return x + r.normal()", "r.normal was drawn"),
    "generator in a closure": (
        "def make(r):\n  return lambda x: x + r.normal()\nf = make(np.random.default_rng(0))",
        "was drawn once",
    ),
    "generator of an object": (
        "class C: pass\nc = C()\nc.r = np.random.RandomState(0)\n"
        "def f(x): return x + c.r.rand()",
        "was drawn once",
    ),
    "generator of Python": (
        "r = random.Random(0)\ndef f(x): return x + r.random()", "r.random was drawn once"),
    "fresh generator": (
        "def f(x): return x + np.random.default_rng().normal()", "default_rng was drawn once"),
    "system's generator": (
        "def f(x): return x + random.SystemRandom().random()", "SystemRandom was drawn once"),
    "secrets": ("def f(x): return x + secrets.randbelow(5)", "secrets.randbelow was drawn once"),
    "uuid": ("def f(x): return x + uuid.uuid4().int % 7", "uuid.uuid4 was drawn once"),
    "entropy": ("def f(x): return x + os.urandom(1)[0]", "os.urandom was"),
    "clock": ("def f(x): return x + time.time()", "time.time was asked once"),
    "clock by name": (
        "from time import perf_counter as clock\ndef f(x): return x + clock()", "clock was asked"),
    "clock imported inside": (
        "def f(x):\n  import time\n  return x + time.monotonic()", "asked once"),
    "date": ("def f(x): return x + datetime.datetime.now().second", "now was asked once"),
    "date by name": (
        "from datetime import date\ndef f(x): return x + date.today().day", "today was asked once"),
    "environment": (
        "def f(x): return x + len(os.environ.get('HOME', ''))", "os.environ.get was read once"),
    "variable of the environment": (
        "def f(x): return x + len(os.getenv('HOME', ''))", "os.getenv was read once"),
    "file": ("def f(x):\n  with open(FILE) as t: return x + float(t.read())", "open was read once"),
    "clock of an object": (
        "class C:\n  def __init__(self): self.now = time.perf_counter\nc = C()\n"
        "def f(x): return x + c.now()",
        "was asked once",
    ),
    "clock as a default": ("def f(x, clock=time.time): return x + clock()", "was asked once"),
    "whether there is a file": (
        "def f(x): return x * (2 if os.path.exists(FILE) else 1)", "exists was read once"),
    "whether there is a path": (
        "def f(x): return x * (2 if pathlib.Path(FILE).exists() else 1)", "exists was read once"),
    "path": ("def f(x): return x + float(pathlib.Path(FILE).read_text())", "read_text was read"),
    "file of arrays": ("def f(x): return x + np.loadtxt(FILE)", "np.loadtxt was read once"),
    "iterator": ("I = iter([1.0, 2.0])\ndef f(x): return x + next(I)", "list_iterator"),
    "iterator in a closure": (
        "def make(c):\n  return lambda x: x + next(c)\nf = make(itertools.count())", "count"),
    "generator function": (
        "def g():\n  yield 1.0\n  yield 2.0\nG = g()\ndef f(x): return x + next(G)", "generator"),
    "globals of a function": (
        "G = 1.0\ndef f(x): return x * f.__globals__['G']", "f uses __globals__"),
    "globals": ("G = 1.0\ndef f(x): return x * globals()['G']", "globals(), which can read"),
    "eval": ("G = 1.0\ndef f(x): return x * eval('G')", "eval(), which can read"),
    "counter": ("n = 0\ndef f(x):\n  global n\n  n += 1\n  return x * n", "n, which tracing"),
    "counter in a closure": (
        "def make():\n  n = 0\n  def f(x):\n    nonlocal n\n    n += 1\n    return x * n\n"
        "  return f\nf = make()",
        "n, which tracing changes",
    ),
    "counter in a list": (
        "n = [0]\ndef f(x):\n  n[0] += 1\n  return x * n[0]", "n, which tracing changes"),
    "counter in a dict": (
        "n = {'a': 0}\ndef f(x):\n  n['a'] += 1\n  return x * n['a']", "n, which tracing changes"),
    "counter in an array": (
        "n = np.zeros(1)\ndef f(x):\n  n[0] += 1\n  return x * n", "n, which tracing changes"),
    "counter of an object": (
        "class C:\n  n = 0\n  def m(self, x):\n    self.n += 1\n    return x * self.n\nf = C().m",
        "n, which tracing changes",
    ),
}  # fmt: skip


FROZEN |= {
    "generator without a seed by name": (
        "SEED = None\ndef f(x): return x + np.random.default_rng(SEED).normal()",
        "default_rng was drawn once",
    ),
    "bits without a seed": (
        "def f(x): return x + np.random.Generator(np.random.PCG64()).normal()",
        "PCG64 was drawn once",
    ),
    "generator that is split": (
        "r = np.random.default_rng(0)\ndef f(x): return x + r.spawn(1)[0].normal()",
        "was drawn once",
    ),
    "seeds that are split": (
        "s = np.random.SeedSequence(0)\n"
        "def f(x): return x + np.random.default_rng(s.spawn(1)[0]).normal()",
        "was drawn once",
    ),
    "bits of a generator": (
        "b = np.random.PCG64(0)\ndef f(x): return x + float(b.random_raw())",
        "was drawn once",
    ),
    "date of NumPy": (
        "def f(x): return x + np.datetime64('now').astype(int)",
        "was asked once",
    ),
    "iterator of a library": (
        "import re\nI = re.finditer('[0-9]', '123')\ndef f(x): return x + int(next(I).group())",
        "callable_iterator, which gives its next value once",
    ),
    "iterator of itertools": (
        "I = itertools.accumulate(itertools.count(1.0))\ndef f(x): return x + next(I)",
        "accumulate, which gives its next value once",
    ),
    "open file": (
        "import io\nF = io.StringIO('1 2 3')\ndef f(x): return x + float(F.read(2))",
        "StringIO, which gives its next value once",
    ),
}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "number.txt"
    path.write_text("1.5")
    return str(path)


@pytest.mark.parametrize("name", FROZEN)
def test_what_is_frozen_is_said_once(name: str, file: str) -> None:
    setup, text = FROZEN[name]
    names, x = namespace(setup), np.ones(4)
    names["FILE"] = file
    f = wf.jit(names["f"])
    with pytest.warns(wf.FrozenValueWarning) as caught:
        f(x)
    (warning,) = caught
    assert text in str(warning.message)
    assert warning.filename == "case.py"
    f(x)
    f(np.ones(3))


@pytest.mark.parametrize("name", FROZEN)
def test_strict_refuses_what_is_frozen(name: str, file: str) -> None:
    setup, text = FROZEN[name]
    names = namespace(setup)
    names["FILE"] = file
    f = wf.jit(names["f"], check="strict")
    for _ in range(2):
        with pytest.raises(wf.FrozenValueError, match="case.py") as caught:
            f(np.ones(4))
        assert text in str(caught.value) or "counter" in name


@pytest.mark.parametrize("name", FROZEN)
def test_off_says_nothing(name: str, file: str) -> None:
    names = namespace(FROZEN[name][0])
    names["FILE"] = file
    wf.jit(names["f"], check="off")(np.ones(4))


# What looks like it, and gives the same in every call.
HARMLESS = {
    "seeded generator": "def f(x): return x + np.random.default_rng(3).normal(size=4)",
    "seeded generator of Python": "def f(x): return x + random.Random(3).random()",
    "drawn before": "K = np.random.rand(4)\ndef f(x): return x * K",
    "clock on a way not taken": "D = False\ndef f(x): return x + time.time() if D else x",
    "draw on a way not taken": "D = False\ndef f(x): return x + np.random.rand() if D else x",
    "keys": "def f(x): return x + wf.random.normal(wf.random.key(0), (4,))",
    "count of calls": "n = 0\ndef f(x):\n  global n\n  n += 1\n  return x",
    "count of calls in a list": "n = [0]\ndef f(x):\n  n[0] += 1\n  return x",
    "count of calls in a dict": "n = {'f': 0}\ndef f(x):\n  n['f'] += 1\n  return x",
    "count of calls in an object": (
        "class C:\n  n = 0\n  def m(self, x):\n    self.n += 1\n    return x\nf = C().m"
    ),
    "log": "L = []\ndef f(x):\n  L.append(x.shape)\n  return x",
    "made once": (
        "class C:\n  w = None\n  def m(self, x):\n    if self.w is None: self.w = np.ones(4)\n"
        "    return x * self.w\nf = C().m"
    ),
    "memo": (
        "M = {}\ndef g(n):\n  if n not in M: M[n] = np.arange(n) * 1.0\n  return M[n]\n"
        "def f(x): return x * g(4)"
    ),
    "date of something": "d = datetime.date(2020, 1, 1)\ndef f(x): return x * d.year",
    "path of something": "p = pathlib.Path('a/b')\ndef f(x): return x * len(p.parts)",
    "file that is written": (
        "import io\nF = io.StringIO()\ndef f(x):\n  print(x.shape, file=F)\n  return x"
    ),
    "state with a seed": "def f(x): return x + np.random.RandomState(3).rand()",
    "generator with a seed by name": (
        "SEED = 3\ndef f(x): return x + np.random.default_rng(SEED).normal()"
    ),
    "local file object": "import io\ndef f(x): return x * float(io.StringIO('2').read())",
    "iterator of its own": "def f(x): return x * next(iter([2.0]))",
    "name of a module": "import time as clock\ndef f(x): return x",
}
CHANGES |= {
    "a name that the guard uses": (
        "check = guarded = 1.0\ndef f(x): return x * check",
        "check = 2.0",
    ),
    "names like the guard's": (
        "weft_stub = weft_0 = 1.0\ndef f(x): return x * weft_stub * weft_0",
        "weft_stub = weft_0 = 2.0",
    ),
    "set in another order": (
        "S = set()\nS.add(8)\nS.add(0)\ndef f(x): return x * (next(iter(S)) + 1)",
        "S.clear()\nS.add(0)\nS.add(8)",
    ),
    "sign of zero in a set": (
        "S = {0.0}\ndef f(x): return np.copysign(x, next(iter(S)))",
        "S.clear()\nS.add(-0.0)",
    ),
    "key of another kind": (
        "D = {1: 2.0}\ndef f(x): return x / (2 if next(iter(D)) is True else 3)",
        "D = {True: 2.0}",
    ),
    "namespace": (
        "N = types.SimpleNamespace(k=None, w=[1.0])\ndef f(x): return x * (N.k or N.w[0])",
        "N.w[0] = 2.0",
    ),
    "attribute that a namespace gets": (
        "N = types.SimpleNamespace()\ndef f(x): return x * getattr(N, 'k', 1.0)",
        "N.k = 2.0",
    ),
    "container of the standard library": (
        "D = collections.UserDict(k=1.0)\ndef f(x): return x * D['k']",
        "D['k'] = 2.0",
    ),
    "property behind super": (
        "class B:\n  _k = 1.0\n  @property\n  def k(self): return self._k\n"
        "class C(B):\n  @property\n  def k(self): return super().k\nc = C()\n"
        "def f(x): return x * c.k",
        "B._k = 2.0",
    ),
    "attribute behind super": (
        "class B: k = 1.0\nclass C(B):\n  k = 5.0\n  def m(self): return super().k\nc = C()\n"
        "def f(x): return x * c.m()",
        "B.k = 2.0",
    ),
    "initialiser behind super": (
        "K = 1.0\nclass B:\n  def __init__(self): self.k = K\n"
        "class C(B):\n  def __init__(self): super().__init__()\ndef f(x): return x * C().k",
        "K = 2.0",
    ),
    "class behind an instance": (
        "class C: k = 1.0\nc = C()\nc.k = 5.0\ndef f(x): return x * type(c).k",
        "C.k = 2.0",
    ),
    "attribute that comes later": (
        "class C: pass\nc = C()\ndef f(x):\n  try: return x * c.k\n"
        "  except AttributeError: return x",
        "c.k = 2.0",
    ),
    "attribute in the way of __getattr__": (
        "class C:\n  def __getattr__(self, n): return 1.0\nc = C()\ndef f(x): return x * c.k",
        "c.k = 2.0",
    ),
    "another descriptor": (
        "class K:\n  def __init__(self, v): self.v = v\n  def __get__(self, o, t): return self.v\n"
        "class C: k = K(1.0)\nc = C()\ndef f(x): return x * c.k",
        "C.k = K(2.0)",
    ),
    "metaclass": (
        "class M(type): k = 1.0\nclass C(metaclass=M): pass\ndef f(x): return x * C.k",
        "M.k = 2.0",
    ),
    "member of an enum by name": (
        "class E(enum.Enum):\n  A = 1\n  B = 2\nE.A.k = 1.0\ndef f(x): return x * E['A'].k",
        "E.A.k = 2.0",
    ),
    "subclass of a number": (
        "class N(float): k = 1.0\nn = N(3.0)\ndef f(x): return x * n.k",
        "N.k = 2.0",
    ),
    "subclass of an array": (
        "class A(np.ndarray): k = 1.0\na = np.ones(4).view(A)\ndef f(x): return x * a.k",
        "A.k = 2.0",
    ),
    "equality": (
        "class C:\n  def __init__(self, k): self.k = k\n"
        "  def __eq__(self, o): return self.k == o.k\n"
        "a, b = C(1), C(1)\ndef f(x): return x * (1.0 if a == b else 2.0)",
        "a.k = 3",
    ),
    "dataclass with slots": (
        "@dataclasses.dataclass(slots=True)\nclass D:\n  k: float = 1.0\nd = D()\n"
        "def f(x): return x * dataclasses.astuple(d)[0]",
        "d.k = 2.0",
    ),
    "made by __new__": (
        "K = 1.0\nclass C:\n  def __new__(cls):\n    o = object.__new__(cls)\n    o.k = K\n"
        "    return o\ndef f(x): return x * C().k",
        "K = 2.0",
    ),
    "sign of NaN": ("K = np.float64('nan')\ndef f(x): return np.copysign(x, K)", "K = -K"),
    "bound method of a builtin": (
        "get = {'a': 1.0}.get\ndef f(x): return x * get('a')",
        "get = {'a': 2.0}.get",
    ),
    "builtin by another name": (
        "class C: pass\nc = C()\nc.k = 1.0\nga = getattr\ndef f(x): return x * ga(c, 'k')",
        "c.k = 2.0",
    ),
    "class without a module": (
        "N = {}\nexec('class C: k = 1.0', N)\nC = N['C']\ndef f(x): return x * C.k",
        "C.k = 2.0",
    ),
    "text of an object": (
        "class C:\n  def __init__(self): self.k = 1.0\n  def __str__(self): return str(self.k)\n"
        "c = C()\ndef f(x): return x * float(f'{c}')",
        "c.k = 2.0",
    ),
    "text of an object by an operator": (
        "class C:\n  def __init__(self): self.k = 1.0\n  def __repr__(self): return str(self.k)\n"
        "c = C()\ndef f(x): return x * float('%s' % c)",
        "c.k = 2.0",
    ),
    "copy of an object": (
        "import copy\nclass C:\n  def __init__(self): self.k = 1.0\n"
        "  def __reduce__(self): return float, (self.k,)\nc = C()\n"
        "def f(x): return x * copy.copy(c)",
        "c.k = 2.0",
    ),
    "replaced fields": (
        "G = 1.0\n@dataclasses.dataclass\nclass D:\n  a: float = 1.0\n"
        "  def __post_init__(self): self.b = self.a * G\nd = D()\n"
        "def f(x): return x * dataclasses.replace(d, a=3.0).b",
        "G = 2.0",
    ),
    "item of a class": (
        "class C:\n  k = 1.0\n  def __class_getitem__(cls, n): return cls.k * n\n"
        "def f(x): return x * C[3]",
        "C.k = 2.0",
    ),
    "subclass made inside": (
        "G = 1.0\nclass B:\n  def __init_subclass__(cls): cls.k = G\n"
        "def f(x):\n  class C(B): pass\n  return x * C.k",
        "G = 2.0",
    ),
    "class attribute by a computed name": (
        "class C: k_1 = 1.0\nc = C()\ndef f(x): return x * getattr(c, 'k_' + str(1))",
        "C.k_1 = 2.0",
    ),
    "module by its name": (
        "import sys\nsys.modules['weft_cfg'] = cfg\ncfg.k = 1.0\n"
        "def f(x): return x * sys.modules['weft_cfg'].k",
        "cfg.k = 2.0",
    ),
    "module imported by its name": (
        "import sys, importlib\nsys.modules['weft_cfg'] = cfg\ncfg.k = 1.0\n"
        "def f(x): return x * importlib.import_module('weft_cfg').k",
        "cfg.k = 2.0",
    ),
    "class that gets an attribute": (
        "class C: pass\nc = C()\ndef f(x): return x * getattr(c, 'k', 1.0)",
        "C.k = 2.0",
    ),
    "class that gets an attribute that code asks for": (
        "class B: pass\nclass C(B): pass\nc = C()\n"
        "def f(x):\n  try: return x * c.k\n  except AttributeError: return x",
        "B.k = 2.0",
    ),
    "module that gets an attribute": (
        "def f(x): return x * getattr(cfg, 'k', 1.0)",
        "cfg.k = 2.0",
    ),
    "slot that gets a value": (
        "class C: __slots__ = ('k',)\nc = C()\ndef f(x): return x * getattr(c, 'k', 1.0)",
        "c.k = 2.0",
    ),
    "slot that loses its value": (
        "class C: __slots__ = ('k',)\nc = C()\nc.k = 2.0\n"
        "def f(x): return x * getattr(c, 'k', 1.0)",
        "del c.k",
    ),
    "attribute by a function of object's": (
        "class C: pass\nc = C()\nc.k = 1.0\nget = object.__getattribute__\n"
        "def f(x): return x * get(c, 'k')",
        "c.k = 2.0",
    ),
    "another module": (
        "cfg.k = 1.0\nother = types.ModuleType('other')\nother.k = 2.0\ndef f(x): return x * cfg.k",
        "cfg = other",
    ),
    "another module in a module": (
        "cfg.part = types.ModuleType('part')\ncfg.part.k = 1.0\n"
        "other = types.ModuleType('other')\nother.k = 2.0\ndef f(x): return x * cfg.part.k",
        "cfg.part = other",
    ),
    "another module in a closure": (
        "cfg.k = 1.0\nother = types.ModuleType('other')\nother.k = 2.0\n"
        "def make():\n  m = cfg\n  def f(x): return x * m.k\n  def set():\n    nonlocal m\n"
        "    m = other\n  return f, set\nf, set = make()",
        "set()",
    ),
    "view of a weft array": (
        "W = wf.Array(np.ones(4))\nV = W[1:3]\ndef f(x): return x * V[0]",
        "W[1] = 5.0",
    ),
    "bytearray": ("B = bytearray([1])\ndef f(x): return x * B[0]", "B[0] = 2"),
    "large bytearray": (
        "B = bytearray(5000)\ndef f(x): return x * B[77] + len(B)",
        "B[:] = bytes([2]) * 5000",
    ),
    "memory that an array holds": (
        "A = np.ones(3)\nM = memoryview(A)\ndef f(x): return x * M[0]",
        "A[0] = 2.0",
    ),
    "read-only array of a bytearray": (
        "B = bytearray(np.ones(4).tobytes())\nA = np.frombuffer(B)\nA.flags.writeable = False\n"
        "def f(x): return x * A",
        "B[:8] = np.array([3.0]).tobytes()",
    ),
    "array of Python's": (
        "import array\nA = array.array('d', [1.0])\ndef f(x): return x * A[0]",
        "A[0] = 2.0",
    ),
    "number of C": (
        "import ctypes\nK = ctypes.c_double(1.0)\ndef f(x): return x * K.value",
        "K.value = 2.0",
    ),
    "proxy of a dict": (
        "D = {'k': 1.0}\nP = types.MappingProxyType(D)\ndef f(x): return x * P['k']",
        "D['k'] = 2.0",
    ),
    "context variable": (
        "import contextvars\nV = contextvars.ContextVar('v', default=1.0)\n"
        "def f(x): return x * V.get()",
        "V.set(2.0)",
    ),
    "variable of a thread": (
        "import threading\nL = threading.local()\nL.k = 1.0\ndef f(x): return x * L.k",
        "L.k = 2.0",
    ),
    "weak reference": (
        "import weakref\nclass C: pass\nc = C()\nc.k = 1.0\nr = weakref.ref(c)\n"
        "def f(x): return x * r().k",
        "c.k = 2.0",
    ),
    "weak dict": (
        "import weakref\nclass C: pass\nc = C()\nW = weakref.WeakKeyDictionary({c: 1.0})\n"
        "def f(x): return x * W[c]",
        "W[c] = 2.0",
    ),
    "sparse array in coordinates": (
        "import scipy.sparse\nS = scipy.sparse.coo_array(np.eye(4))\ndef f(x): return S @ x",
        "S.coords[0][3] = 0",
    ),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_no_warning_without_reason(name: str) -> None:
    names, x = namespace(HARMLESS[name]), np.ones(4)
    f = wf.jit(names["f"])
    first = f(x)
    for _ in range(3):
        np.testing.assert_array_equal(f(x), first)
    assert f.why_retraced().count("\n") == 0


# --- how it is done ---


class Scaled:
    """An object whose method is compiled."""

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self.unread = 0

    def plain(self, x: Any) -> Any:
        return x * self.scale

    compiled = wf.jit(plain, static_argnames=("self",))

    def branching(self, x: Any) -> Any:
        if np.sum(x) > 0:
            return x * self.scale
        return x

    converted = wf.jit(branching, static_argnames=("self",), control_flow=True)


@pytest.mark.parametrize("method", ["compiled", "converted"])
def test_attributes_of_static_objects_are_seen(method: str) -> None:
    one, other, x = Scaled(1.0), Scaled(5.0), np.ones(3)
    for scale in (1.0, 2.0, 3.0, 2.0):
        one.scale = scale
        for model in (one, other):
            np.testing.assert_array_equal(getattr(model, method)(x), model.plain(x))
            np.testing.assert_array_equal(getattr(Scaled, method)(model, x=x), model.plain(x))


def test_attributes_that_no_code_reads_do_not_matter() -> None:
    model = Scaled(2.0)
    f = wf.jit(model.plain)
    for number in range(3):
        model.unread = number
        f(np.ones(3))
    assert f.why_retraced() == "plain: first call"


@pytest.mark.parametrize(
    "case, reason",
    [
        ("global", "global G changed from 1.0 to 2.0"),
        ("closure", "k changed from 1.0 to 2.0"),
        ("global function", "global g changed"),
        ("array", "the array global A changed"),
        ("bound method", "C.k changed from 1.5 to 2.0"),
        ("class attribute", "C.k changed from 1.0 to 2.0"),
        ("dict", "global D changed"),
        ("module", "cfg.k changed from 1.0 to 2.0"),
    ],
)
def test_reasons_say_what_changed(case: str, reason: str) -> None:
    setup, change = CHANGES[case]
    names = namespace(setup)
    f = wf.jit(names["f"])
    f(np.ones(4))
    exec(change, names)
    f(np.ones(4))
    assert f.why_retraced().splitlines()[1].endswith(f": {reason}")


def test_old_values_stay_compiled_within_bounds() -> None:
    names = namespace("G = 0.0\ndef f(x): return x * G")
    f, x = wf.jit(names["f"]), np.ones(3)
    for _ in range(3):
        for value in (1.0, 2.0, 3.0):
            names["G"] = value + 0.0
            assert f(x)[0] == value
    assert len(f.why_retraced().splitlines()) == 3
    for value in range(20):
        names["G"] = value + 0.5
        assert f(x)[0] == value + 0.5
    assert len(f._cache) <= 4


def test_equal_values_in_new_objects_are_the_same() -> None:
    names = namespace(
        "G, A, L, D = 1.5, np.ones(3), [1.0], {'a': (1.0, 2.0)}\n"
        "class C:\n  def __init__(self, k): self.k = k\nc = C(1.0)\n"
        "def f(x): return x * G * A * L[0] * D['a'][0] * c.k"
    )
    f, x = wf.jit(names["f"]), np.ones(3)
    for _ in range(3):
        f(x)
        exec("G, A, L, D, c = float('1.5'), A.copy(), [*L], dict(D), C(c.k)", names)
    assert f.why_retraced() == "f: first call"


def test_what_turns_out_not_to_matter_costs_a_trace_only(monkeypatch: pytest.MonkeyPatch) -> None:
    names = namespace("D = {'k': 2.0, 'step': 0}\ndef f(x): return x * D['k']")
    f, x = wf.jit(names["f"]), np.ones(3)
    f(x)
    programs = set()
    for step in range(3):
        names["D"]["step"] = step + 1
        assert f(x)[0] == 2.0
        programs |= {id(version.program) for version in f._cache.values()}
    assert len(programs) == 1


def test_functions_without_such_values_cost_nothing_more() -> None:
    names = namespace(
        "from math import pi, sqrt\nimport numpy\nfrom numpy import sin\n"
        "def f(x): return sin(x) + numpy.cos(x) + np.linalg.norm(x) + sqrt(2.0) + len(x.shape)"
    )
    f, x = wf.jit(names["f"]), np.ones(3)
    f(x)
    (version,) = f._cache.values()
    assert version.guard.places == ()
    (stub,) = f._stubs
    assert isinstance(stub, types.BuiltinFunctionType)


def test_a_change_deep_in_a_large_array_is_noticed_later() -> None:
    a = np.ones(100_000)
    f, x = wf.jit(lambda x: x + np.sum(a)), np.ones(3)
    for _ in range(5):
        first = f(x)
    a[12_345] = 7.0
    with pytest.warns(wf.FrozenValueWarning, match="changed in place after lambda was traced"):
        for _ in range(2 * places.LOOK_EVERY):
            f(x)
    np.testing.assert_allclose(f(x), first + 6.0)


def test_strict_takes_generators_with_a_seed() -> None:
    seed, x = 3, np.ones(2)
    f = wf.jit(lambda x: x + np.random.default_rng(seed).normal(), check="strict")
    assert f(x)[0] == f(x)[0] == 1.0 + np.random.default_rng(3).normal()


@pytest.mark.parametrize(
    "held",
    [
        "import queue\nQ = queue.Queue()\nQ.put(1.0)",
        "import configparser as c\nQ = c.RawConfigParser()",
    ],
)
def test_strict_refuses_objects_of_libraries_that_hold_others(held: str) -> None:
    names = namespace(f"{held}\ndef f(x): return x * (2.0 if Q else 1.0)")
    wf.jit(names["f"])(np.ones(2))
    with pytest.raises(wf.FrozenValueError, match="no guard can tell.* of a library's object"):
        wf.jit(names["f"], check="strict")(np.ones(2))


def test_strict_refuses_arrays_too_large_to_be_compared() -> None:
    a = np.ones(10_000)
    f = wf.jit(lambda x: x + np.sum(a), check="strict")
    with pytest.raises(wf.FrozenValueError, match="all of the array a, which is large"):
        f(np.ones(3))
    a.flags.writeable = False
    assert f(np.ones(3))[0] == 10_001.0


def test_a_change_deep_in_a_large_container_is_noticed_later() -> None:
    large, table = [1.0] * 1000, dict.fromkeys(range(1000), 1.0)
    f, x = wf.jit(lambda x: x + sum(large) + sum(table.values())), np.ones(3)
    for held in (large, table):
        for _ in range(5):
            first = f(x)
        held[77] = 7.0
        with pytest.warns(wf.FrozenValueWarning, match="was changed in place after lambda"):
            for _ in range(2 * places.LOOK_EVERY):
                f(x)
        np.testing.assert_allclose(f(x), first + 6.0)


def test_wrappers_of_ours_cost_nothing_more() -> None:
    f = wf.jit(wf.value_and_grad(lambda x: np.sum(np.sin(x))))
    f(np.ones(3))
    (version,) = f._cache.values()
    assert version.guard.places == ()


def test_strict_takes_what_is_guarded() -> None:
    names = namespace(CHANGES["pytree"][0])
    f, x = wf.jit(names["f"], check="strict"), np.ones(4)
    first = f(x)
    exec(CHANGES["pytree"][1], names)
    np.testing.assert_array_equal(f(x), first + 1.0)


def test_what_programs_log_by_themselves_is_no_change() -> None:
    seen: list[float] = []

    def log(x: Any) -> Any:
        seen.append(float(x[0]))
        return x

    f = wf.jit(lambda x: wf.callback(log, wf.spec("f64[2]"), x) * 2)

    for number in range(4):
        f(np.full(2, float(number)))
    assert seen == [0.0, 1.0, 2.0, 3.0]
    assert len(f.why_retraced().splitlines()) == 1


def test_methods_of_traced_dataclasses_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    f, p = wf.jit(lambda p: p.energy()), Particle(np.ones(3))
    assert f(p) == 3.0
    monkeypatch.setattr(Particle, "mass", 2.0)
    assert f(p) == 6.0
    monkeypatch.setattr(Particle, "energy", lambda self: np.sum(self.v))
    assert f(p) == 3.0


@dataclasses.dataclass
class Particle:
    v: Any
    mass = 1.0

    def energy(self) -> Any:
        return np.sum(self.v**2) * self.mass


def test_converted_control_flow_sees_changes(tmp_path: Path) -> None:
    path = tmp_path / "flow.py"
    path.write_text("G = 1.0\ndef f(x):\n  if x.sum() > 0:\n    return x * G\n  return x\n")
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    f = wf.jit(names["f"], control_flow=True)
    assert f(np.ones(2))[0] == 1.0
    names["G"] = 2.0
    assert f(np.ones(2))[0] == 2.0


def test_programs_found_on_disk_are_guarded(disk: Cache) -> None:
    for _ in range(2):
        names = namespace("G = 1.0\ndef f(x): return x * G")
        f = wf.jit(names["f"])
        assert f(np.ones(2))[0] == 1.0
        names["G"] = 2.0
        assert f(np.ones(2))[0] == 2.0
        names["G"] = 1.0
        assert f(np.ones(2))[0] == 1.0
    assert f.explain_cache().count("found on disk by its function") == 2


def test_programs_found_on_disk_are_warned_of_and_refused_too(disk: Cache) -> None:
    large, many = np.ones(10_000), [[float(number)] for number in range(2100)]

    def summed(x: Any) -> Any:
        return x + np.sum(large)

    def picked(x: Any) -> Any:
        return x + many[7][0]

    for function in (summed, picked):
        wf.jit(function, check="off")(np.ones(2))
        with pytest.raises(wf.FrozenValueError, match="no guard can tell"):
            wf.jit(function, check="strict")(np.ones(2))
    with pytest.raises(wf.FrozenValueWarning, match="more than 2,048 values"):
        wf.jit(picked)(np.ones(2))  # `pytest.warns` would change what programs are found by


def test_threads_get_what_was_there_during_their_call() -> None:
    names = namespace("G = 1.0\ndef f(x): return x * G + G")
    f, x = wf.jit(names["f"]), np.ones(3)
    allowed, wrong, stop = {2.0 * v for v in range(1, 4)}, [], threading.Event()

    def call() -> None:
        while not stop.is_set():
            result = f(x)
            if not (set(result.tolist()) <= allowed and len(set(result.tolist())) == 1):
                wrong.append(result)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(60):
        names["G"] = float(number % 3 + 1)
        np.testing.assert_array_equal(f(x), 2 * names["G"])
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_value_that_another_thread_changes_during_the_trace_is_seen() -> None:
    names = namespace(
        "G = 1.0\ndef f(x):\n  if t.ident is None:\n    t.start()\n    t.join()\n  return x * G"
    )
    names["t"] = threading.Thread(target=exec, args=("G = 2.0", names))
    f, x = wf.jit(names["f"]), np.ones(3)
    for value in (2.0, 1.0, 2.0, 3.0):
        assert f(x)[0] == names["G"]
        names["G"] = value
        assert f(x)[0] == value


def test_objects_that_cannot_be_looked_at_are_left_alone() -> None:
    class Shy:
        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError("no")

    shy = Shy()
    f = wf.jit(lambda x: x * (2.0 if shy is not None else 1.0))
    assert f(np.ones(2))[0] == 2.0


def test_check_says_what_it_can_be() -> None:
    with pytest.raises(wf.ArgumentError, match="check is 'always'; it can be strict, warn, off"):
        wf.jit(lambda x: x, check="always")


def test_the_order_of_keywords_and_keys_is_seen() -> None:
    def applied(x: Any, **steps: Any) -> Any:
        for name, number in steps.items():
            x = x * number if name == "times" else x + number
        return x

    f, x = wf.jit(applied), np.ones(3)
    g = wf.jit(lambda parts: np.stack(list(parts.values())))
    h = wf.jit(lambda parts: {name: part * 2 for name, part in parts.items()})
    ahead, behind = {"b": x, "a": 2 * x}, {"a": 2 * x, "b": x}
    for _ in range(3):
        assert f(x, times=2.0, plus=1.0)[0] == 3.0 and f(x, plus=1.0, times=2.0)[0] == 4.0
        assert g(ahead)[0, 0] == 1.0 and g(behind)[0, 0] == 2.0
        assert list(h(ahead)) == ["b", "a"] and list(h(behind)) == ["a", "b"]
        nested = [wf.jit(lambda t: next(iter(t[0].values())))([each]) for each in (ahead, behind)]
        assert nested[0][0] == 1.0 and nested[1][0] == 2.0
    assert "another order" in g.why_retraced()


def test_named_arguments_in_any_order_are_one_version() -> None:
    f, x = wf.jit(lambda x, a, b: x * a + b), np.ones(3)
    assert f(x, a=2.0, b=1.0)[0] == f(x, b=1.0, a=2.0)[0] == 3.0
    assert f.why_retraced().count("\n") == 0


@dataclasses.dataclass(frozen=True)
class Settings:
    name: str
    scale: float = dataclasses.field(compare=False, default=1.0)


def test_equal_static_arguments_may_hold_other_values() -> None:
    f, x = wf.jit(lambda x, s: x * s.scale, static_argnums=1), np.ones(2)
    for scale in (1.0, 2.0, 1.0, 2.0):
        assert f(x, Settings("a", scale))[0] == scale
    assert f.why_retraced().count("\n") == 1
    g = wf.jit(lambda x, s: np.copysign(x, next(iter(s))), static_argnums=1)
    assert g(x, frozenset([0.0]))[0] == 1.0 and g(x, frozenset([-0.0]))[0] == -1.0


def test_a_derivative_that_is_defined_again_is_seen() -> None:
    @wf.custom_jvp
    def g(x: Any) -> Any:
        return x * 1.0

    g.defjvp(lambda primals, tangents: (g(*primals), tangents[0] * 1.0))
    slope = wf.jit(wf.grad(lambda x: np.sum(g(x))))
    assert slope(np.ones(2))[0] == 1.0
    g.defjvp(lambda primals, tangents: (g(*primals), tangents[0] * 2.0))
    assert slope(np.ones(2))[0] == 2.0


def test_fields_hide_no_other_attributes() -> None:
    particle = Particle(np.ones(2))
    particle.mass = 3.0
    with pytest.raises(wf.ArgumentError, match="Particle has an attribute mass that is no field"):
        wf.jit(lambda p: p.energy())(particle)
    particle = Particle(np.ones(2))
    particle.__dict__["memo"] = 3.0  # which the function cannot see
    assert wf.jit(lambda p: p.energy())(particle) == 2.0

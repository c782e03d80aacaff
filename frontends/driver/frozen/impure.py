"""What gives a value that was not computed from arguments: draws, clocks, the environment, files.

A trace freezes such values. That a function has the name of a clock does not say that its trace
asked for the time, so nothing is reported before it was seen: generators are compared before and
after, and calls are observed, by a profile function that is only set where such a name was found.
"""

from __future__ import annotations

import os
import sys
import threading
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from weft.compiler.ir.location import Location
from weft.compiler.record import record
from weft.frontends.driver.frozen.objects import is_users_class

_DRAWS: Final = "was drawn once, while the function was traced; pass a key of weft.random"
_CLOCK: Final = "was asked once, while the function was traced; pass the time as an argument"
_WORLD: Final = "was read once, while the function was traced; pass what it gave as an argument"
_FUNCTIONS: Final[dict[str, tuple[str, str]]] = {
    "time": (_CLOCK, "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns "
             "process_time process_time_ns thread_time thread_time_ns clock_gettime "
             "clock_gettime_ns localtime gmtime strftime ctime asctime"),
    "uuid": (_DRAWS, "uuid1 uuid4"),
    "secrets": (_DRAWS, "choice randbelow randbits token_bytes token_hex token_urlsafe"),
    "os": (_WORLD, "getenv getcwd listdir scandir walk stat read"),
    "posix": (_WORLD, "urandom getrandom getcwd listdir scandir stat lstat read getpid times"),
    "genericpath": (_WORLD, "exists isfile isdir getsize getmtime"),
    "posixpath": (_WORLD, "expandvars expanduser"),
    "glob": (_WORLD, "glob iglob"),
    "gzip": (_WORLD, "open"),
    "linecache": (_WORLD, "getline getlines"),
    "io": (_WORLD, "open"),
    "_io": (_WORLD, "open"),
    "builtins": (_WORLD, "open input"),
    "numpy": (_WORLD, "load loadtxt genfromtxt fromfile"),
    "numpy.lib._npyio_impl": (_WORLD, "load loadtxt genfromtxt fromfile"),
}  # fmt: skip
_NAMES: Final = {
    module: (kind, frozenset(names.split())) for module, (kind, names) in _FUNCTIONS.items()
}
# Made without a seed, these take one from the system.
_UNSEEDED: Final = frozenset(
    "default_rng RandomState Random SeedSequence SystemRandom "
    "PCG64 PCG64DXSM MT19937 Philox SFC64".split()
)
_IN_PLACE_OF_USERS: Final = os.path.join("frontends", "flow", "calls.py")
_OF_DATES: Final = frozenset(("now", "utcnow", "today"))
_A_SEED: Final = object()  # for a call that may take a seed from the system
METHODS: Final = frozenset("read_text read_bytes open exists is_file is_dir stat iterdir".split())
"""Methods of paths that read files."""


@record
class Spot:
    """A place in code, by byte offset."""

    code: types.CodeType
    offset: int

    @property
    def location(self) -> Location:
        """The place as messages show it."""
        lines = list(self.code.co_positions())[self.offset // 2]
        return Location.of_instruction(self.code, self.offset, lines[0] or self.code.co_firstlineno)


@record
class Use:
    """Where code has a function that gives another value each time: what is called (`called`; None:
    what no profile function is told of; `_A_SEED`: what takes one from the system, or is given
    one), and what happens to the value.
    """

    name: str
    kind: str
    spot: Spot
    called: Any


@record
class Finding:
    """A value that was frozen."""

    text: str
    location: Location | None


def use_of(value: Any, rest: Sequence[str], spot: Spot, *, is_bare: bool) -> Use | None:
    """The use that loading a value and reading attributes of it is, if it is one."""
    if value is os.environ:
        return Use("os.environ", _WORLD, spot, os.environ)
    if not issubclass(type(value), type) and is_users_class(type(value)):
        return None
    name, module = getattr(value, "__name__", None), getattr(value, "__module__", None)
    if issubclass(type(value), type):
        if module == "datetime" and _OF_DATES & set(rest[:1] or ()):
            return Use(f"{name}.{rest[0]}", _CLOCK, spot, getattr(value, rest[0], None))
        if value is np.datetime64 and not _OF_DATES.isdisjoint(spot.code.co_consts):
            return Use("datetime64", _CLOCK, spot, None)
    if not isinstance(name, str) or not isinstance(module, str) or not callable(value):
        return None
    if name in _UNSEEDED and not rest and _draws(module):
        if is_bare:
            return Use(f"{name}()", _DRAWS, spot, None)
        if name != "RandomState":  # which asks the system whatever seed it is given
            return Use(f"{name}()", _DRAWS, spot, _A_SEED)
    kind, names = _NAMES.get(module, ("", frozenset()))
    if name not in names:
        return None
    return Use(f"{module}.{name}".removeprefix("builtins."), kind, spot, value)


def _draws(module: str | None) -> bool:
    return (module or "").startswith(("numpy.random", "random"))


def method_uses(name: str, spot: Spot | None) -> list[Use]:
    """The uses that a method of a path is, if there are paths."""
    loaded = sys.modules.get("pathlib")
    if loaded is None or spot is None:
        return []
    return [Use(f"Path.{name}", _WORLD, spot, getattr(loaded.Path, name))]


def is_generator(value: Any) -> bool:
    """Whether it is a generator of random numbers, of NumPy or Python, or of seeds for these."""
    numpy, python = sys.modules.get("numpy.random"), sys.modules.get("random")
    if numpy is not None and issubclass(
        type(value),
        numpy.Generator | numpy.RandomState | numpy.BitGenerator | numpy.SeedSequence,
    ):
        return True
    return python is not None and issubclass(type(value), python.Random)


class Observation:
    """What a trace drew, and which uses it came by."""

    def __init__(
        self, uses: Sequence[Use], generators: Sequence[tuple[Any, str, Spot | None]]
    ) -> None:
        self._uses = list(uses)
        known = {id(generator) for generator, _, _ in generators}
        self._generators = [*generators]
        if threading.active_count() == 1:  # else others may draw meanwhile
            self._generators += [each for each in _global_generators() if id(each[0]) not in known]
        self._called: set[Any] = set()
        self._codes: set[tuple[str, int]] = set()
        self.findings: list[Finding] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        """Observe what happens inside."""
        before = [_state(generator) for generator, _, _ in self._generators]
        process = os.getpid()
        old = sys.getprofile()
        if self._uses and old is None:
            sys.setprofile(self._event)
        try:
            yield
        finally:
            if self._uses and old is None:
                sys.setprofile(None)
        for (generator, what, spot), state in zip(self._generators, before, strict=True):
            if _state(generator) != state and os.getpid() == process:  # forks seed it anew
                self._found(what, _DRAWS, spot)
        for use in self._uses:
            if old is not None or self._was_called(use):
                self._found(use.name, use.kind, use.spot)

    def _found(self, name: str, kind: str, spot: Spot | None) -> None:
        location = None if spot is None else spot.location
        shown = name if location is None else location.expression or name
        self.findings.append(Finding(f"{shown} {kind}", location))

    def _event(self, frame: types.FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            asking = _asking(frame)
            if asking is not None:
                self._called.add((_key(argument), asking.f_code.co_filename))
        elif event == "call":
            code, back = frame.f_code, _asking(frame.f_back)
            self._codes.add((code.co_filename, code.co_firstlineno))
            if back is not None:
                self._called.add((_key(code), back.f_code.co_filename))
                if code.co_varnames[:1] == ("self",) and frame.f_locals.get("self") is os.environ:
                    self._called.add((_key(os.environ), back.f_code.co_filename))

    def _was_called(self, use: Use) -> bool:
        code = use.spot.code
        if use.called is None:
            return (code.co_filename, code.co_firstlineno) in self._codes
        if use.called is _A_SEED:
            return any(called == _key(os.urandom) for called, _ in self._called)
        called = getattr(use.called, "__wrapped__", use.called)
        called = getattr(called, "__func__", called)
        return (_key(getattr(called, "__code__", called)), code.co_filename) in self._called


def _asking(frame: types.FrameType | None) -> types.FrameType | None:
    """The frame that calls something: the user's, where it is called for one whose control flow is
    converted.
    """
    while frame is not None and frame.f_code.co_filename.endswith(_IN_PLACE_OF_USERS):
        frame = frame.f_back
    return frame


def _key(called: Any) -> Any:
    """What is the same for a function each time that it is asked for."""
    if isinstance(called, types.BuiltinFunctionType):
        return called.__qualname__, called.__module__
    return id(called)


def _global_generators() -> list[tuple[Any, str, None]]:
    found: list[tuple[Any, str, None]] = []
    numpy, python = sys.modules.get("numpy.random.mtrand"), sys.modules.get("random")
    if numpy is not None:
        found.append((numpy._rand, "np.random", None))
    if python is not None:
        found.append((python._inst, "random", None))
    return found


def _frozen(state: Any) -> Any:
    if isinstance(state, dict):
        return tuple([(key, _frozen(part)) for key, part in state.items()])
    return state.tobytes() if hasattr(state, "tobytes") else state


def _state(generator: Any) -> Any:
    bits = getattr(generator, "bit_generator", generator)
    seeds = getattr(bits, "seed_seq", bits)
    spawned = getattr(seeds, "n_children_spawned", None)
    if hasattr(bits, "state") or spawned is not None:
        return _frozen(getattr(bits, "state", None)), spawned
    if hasattr(generator, "get_state"):
        return _frozen(generator.get_state(legacy=False))
    try:
        return generator.getstate()
    except NotImplementedError:  # the system's
        return None

"""Places in which a trace found values: what was there, and how to ask whether it still is.

The question is asked before every call, so each kind of place says it as a Python expression; those
of all places together become one function (`guard`), in which a name costs what it costs in the
user's own function.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, Final

import numpy as np

# Arrays up to this size are compared whole before every call, which takes about as long as the call
# itself; of larger ones as many elements as this, evenly spread.
MOST_COMPARED_BYTES: Final = 4096
SAMPLED: Final = 64
MOST_COMPARED_ITEMS: Final = 256
# All of a large array is looked at in the calls 1, 2, 4, 8, ... and from then on every so many, so
# that this takes a small part of the time whatever the size.
LOOK_EVERY: Final = 1024

# Containers of so few elements are asked for each by its place or key, which is quicker.
MOST_SPELLED: Final = 8

Bind = Callable[[Any], str]
"""Gives a name to an object, by which the expression has it."""


class GuardedPlace:
    """Where a value was found. `condition` is the expression that says whether it is still there,
    in which `bind` gives names to objects; `label` is what messages call the place.
    """

    __slots__ = ("label", "owner", "key", "expected", "look")

    def __init__(self, label: str, owner: Any, key: Any, expected: Any) -> None:
        self.look: Look | None = None
        self.label = label
        self.owner = owner
        self.key = key
        self.expected = expected

    @property
    def identity(self) -> tuple[Any, ...]:
        """The same for the same place in another walk."""
        return type(self), id(self.owner), self.key

    def condition(self, bind: Bind) -> str:
        raise NotImplementedError

    def shown(self) -> str:
        """The value that was found, as reasons show it; empty for one that takes too much room."""
        return _shown(self.expected)


class DictEntry(GuardedPlace):
    """An entry of a dict."""

    __slots__ = ()

    def condition(self, bind: Bind) -> str:
        return f"{bind(self.owner)}[{self.key!r}] is {bind(self.expected)}"


class Global(DictEntry):
    """A global of a function; functions of its module can ask for it by name."""

    __slots__ = ()


class ClosureCell(GuardedPlace):
    """A variable that a function closes over; `bind` knows how to load from a cell."""

    __slots__ = ()

    def condition(self, bind: Bind) -> str:
        return f"{bind(self.owner)} is {bind(self.expected)}"


class Attribute(GuardedPlace):
    """An attribute that is data: of an object, a class or a module."""

    __slots__ = ()

    def condition(self, bind: Bind) -> str:
        return f"{bind(self.owner)}.{self.key} is {bind(self.expected)}"


class Method(GuardedPlace):
    """A function that an object has from its class."""

    __slots__ = ()

    def condition(self, bind: Bind) -> str:
        return f"{bind(self.owner)}.{self.key}.__func__ is {bind(self.expected)}"


class Absent(GuardedPlace):
    """A global that is not there, which code may find out."""

    __slots__ = ()

    def condition(self, bind: Bind) -> str:
        return f"{self.key!r} not in {bind(self.owner)}"


class Unset(GuardedPlace):
    """An attribute that an object has a slot for, and no value yet."""

    __slots__ = ()

    def condition(self, bind: Bind) -> str:
        return f"not {bind(hasattr)}({bind(self.owner)}, {self.key!r})"


class Called(GuardedPlace):
    """What a reference gives that is called: a weak one, or the method of a context variable."""

    __slots__ = ()

    def condition(self, bind: Bind) -> str:
        arguments = "" if self.key is None else f"*{bind(self.key)}"
        return f"{bind(self.owner)}({arguments}) is {bind(self.expected)}"


class BytesOf(GuardedPlace):
    """The memory of something else than an array, such as a `bytearray`."""

    __slots__ = ("step",)

    def __init__(self, label: str, owner: Any) -> None:
        size = memoryview(owner).nbytes
        self.step = max(size // SAMPLED, 1) if size > MOST_COMPARED_BYTES else 1
        super().__init__(label, owner, None, memory_of(owner, self.step))
        if self.step > 1:
            self.look = Look(Remembered(owner))

    def condition(self, bind: Bind) -> str:
        now = f"{bind(memory_of)}({bind(self.owner)}, {self.step})"
        same = f"{now} == {bind(self.expected)}"
        return same if self.look is None else f"{same} and {bind(self.look)}()"

    def shown(self) -> str:
        return ""


class Never(GuardedPlace):
    """What is never there: for a trace that nobody knows the values of."""

    __slots__ = ()

    def condition(self, bind: Bind) -> str:
        return f"{bind(False)}"


class Keys(GuardedPlace):
    """Which attributes an object has of its own."""

    __slots__ = ()

    def condition(self, bind: Bind) -> str:
        return f"{bind(self.owner)}.keys() == {bind(self.expected)}"

    def shown(self) -> str:
        return ""


class ClassKeys(Keys):
    """Which attributes a class has of its own."""

    __slots__ = ()

    def condition(self, bind: Bind) -> str:
        return f"{bind(self.owner)}.__dict__.keys() == {bind(self.expected)}"


class Contents(GuardedPlace):
    """What a list, a dict or a set holds: all of it, or of a large list some, and of other large
    ones how much, and now and then all.
    """

    __slots__ = ("keys",)

    def __init__(self, label: str, owner: Any) -> None:
        is_mapping = issubclass(type(owner), dict | types.MappingProxyType)
        super().__init__(label, owner, None, tuple(owner.values() if is_mapping else owner))
        self.keys = tuple(owner) if is_mapping else None
        if len(self.expected) > MOST_COMPARED_ITEMS:
            self.look = Look(Alike(owner, self.keys, self.expected))

    def condition(self, bind: Bind) -> str:
        owner, expected, keys = bind(self.owner), self.expected, self.keys
        if self.look is not None:
            same = f"{bind(len)}({owner}) == {len(expected)}"
            if isinstance(self.owner, list):
                step = len(expected) // SAMPLED
                same += f" and {_all_same(bind, f'{owner}[::{step}]', expected[::step])}"
            return f"{same} and {bind(self.look)}()"
        same, places = f"{bind(len)}({owner}) == {len(expected)}", range(len(expected))
        if keys is not None:
            same += f" and {_all_same(bind, owner, keys)}"
        names: Sequence[Any] = places if keys is None else keys
        is_asked_by_name = keys is not None or not isinstance(self.owner, set)
        if (
            is_asked_by_name
            and len(names) <= MOST_SPELLED
            and all(type(name) in (str, int) for name in names)
        ):
            pairs = zip(names, expected, strict=True)
            return " and ".join([same, *[f"{owner}[{k!r}] is {bind(v)}" for k, v in pairs]])
        values = owner if keys is None else f"{owner}.values()"
        return f"{same} and {_all_same(bind, values, expected)}"

    def shown(self) -> str:
        return ""


class GuardedArray(GuardedPlace):
    """The elements of an array of NumPy's, which is a constant of the program: all of them, or of a
    large array some, and now and then all.
    """

    __slots__ = ("sample", "shape", "dtype")

    def __init__(self, label: str, owner: np.ndarray[Any, Any]) -> None:
        self.sample = np.asarray(owner)
        self.shape, self.dtype = owner.shape, owner.dtype
        is_large = owner.nbytes > MOST_COMPARED_BYTES and not is_constant(owner)
        if is_large:
            self.sample = _sampled(self.sample)
        super().__init__(label, owner, None, b"" if is_constant(owner) else self.sample.tobytes())
        if is_large:
            self.look = Look(Unchanged(owner))

    def condition(self, bind: Bind) -> str:
        owner, before = bind(self.owner), bind(self.expected)
        same = f"{owner}.shape == {bind(self.shape)} and {owner}.dtype is {bind(self.dtype)}"
        if is_constant(self.owner):
            return same
        if self.is_joined:
            return f"{same} and {before}.startswith({bind(self.memory)})"
        same += f" and {bind(self.sample)}.tobytes() == {before}"
        return same if self.look is None else f"{same} and {bind(self.look)}()"

    @property
    def is_joined(self) -> bool:
        """Whether all of it is compared as bytes, which many arrays can be at once."""
        return self.look is None and has_buffer(self.sample) and not is_constant(self.owner)

    @property
    def memory(self) -> memoryview:
        held: Any = self.sample
        return memoryview(held)

    def shown(self) -> str:
        return ""


def joined(arrays: Sequence[GuardedArray], bind: Bind) -> str:
    """The condition of many small arrays, which takes half the time of one for each."""
    owners = bind(tuple([place.owner for place in arrays]))
    memory = bind(tuple([place.memory for place in arrays]))
    shapes, dtypes = [place.shape for place in arrays], [place.dtype for place in arrays]
    return (
        f"[*{bind(map)}({bind(_SHAPE)}, {owners})] == {bind(shapes)}"
        f" and [*{bind(map)}({bind(_DTYPE)}, {owners})] == {bind(dtypes)}"
        f" and {bind(b''.join)}({memory}) == {bind(b''.join([p.expected for p in arrays]))}"
    )


_SHAPE: Final = operator.attrgetter("shape")
_DTYPE: Final = operator.attrgetter("dtype")


class Look:
    """Looks at all of something large, in some calls."""

    __slots__ = ("is_same", "calls", "found")

    def __init__(self, is_same: Callable[[], bool]) -> None:
        self.is_same = is_same
        self.calls = 0
        self.found = False

    def __call__(self) -> bool:
        self.calls += 1
        if self.calls & (self.calls - 1) and self.calls % LOOK_EVERY:
            return not self.found
        return self.now()

    def now(self) -> bool:
        """Whether all is as it was. Once something is not, this look is over: another one is taken
        when the function is traced again.
        """
        self.found = self.found or not self.is_same()
        return not self.found


class Unchanged:
    """Whether an array has the elements that it had."""

    __slots__ = ("array", "digest")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.digest = content_digest(array)

    def __call__(self) -> bool:
        return content_digest(self.array) == self.digest


class Remembered:
    """Whether something holds the bytes that it held."""

    __slots__ = ("owner", "digest")

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.digest = blake2b(memory_of(owner), digest_size=20).digest()

    def __call__(self) -> bool:
        return blake2b(memory_of(self.owner), digest_size=20).digest() == self.digest


class Alike:
    """Whether a container holds the objects that it held, in the same order."""

    __slots__ = ("container", "keys", "values")

    def __init__(self, container: Any, keys: tuple[Any, ...] | None, values: tuple[Any, ...]):
        self.container = container
        self.keys = keys
        self.values = values

    def __call__(self) -> bool:
        held = self.container
        if len(held) != len(self.values):
            return False
        if self.keys is not None:
            same = all(map(operator.is_, held, self.keys))
            return same and all(map(operator.is_, held.values(), self.values))
        return all(map(operator.is_, held, self.values))


def _all_same(bind: Bind, values: str, expected: tuple[Any, ...]) -> str:
    """The expression that says whether values are these objects."""
    return f"{bind(all)}({bind(map)}({bind(operator.is_)}, {values}, {bind(expected)}))"


def _sampled(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A view of some elements of a large array, evenly spread."""
    if array.flags.c_contiguous:
        return array.reshape(-1)[:: max(array.size // SAMPLED, 1)]
    most = SAMPLED ** (1 / array.ndim)
    return array[tuple([slice(None, None, max(int(size / most), 1)) for size in array.shape])]


def content_digest(array: np.ndarray[Any, Any]) -> bytes:
    """A digest of the elements of an array, in order."""
    whole = np.ascontiguousarray(array)
    data: Any = whole.reshape(-1).view(np.uint8) if has_buffer(whole) else whole.tobytes()
    return blake2b(data, digest_size=20).digest()


def is_constant(array: np.ndarray[Any, Any]) -> bool:
    """Whether nobody can write to an array, short of making it writeable again."""
    held: Any = array
    while issubclass(type(held), np.ndarray):
        if held.flags.writeable:
            return False
        held = held.base
    return held is None or issubclass(type(held), bytes)


def memory_of(owner: Any, step: int = 1) -> bytes:
    """The bytes that something holds, or each so many of them, after how many there are."""
    with memoryview(owner) as view:
        is_sampled = step > 1 and view.c_contiguous
        held = view.cast("B")[::step].tobytes() if is_sampled else view.tobytes()
        return view.nbytes.to_bytes(8, "little") + held


def has_buffer(array: np.ndarray[Any, Any]) -> bool:
    """Whether the memory of an array can be asked for as bytes."""
    return array.flags.c_contiguous and array.dtype.kind in "biufc"


def _shown(value: Any) -> str:
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        text = repr(value)
        return text if len(text) <= 40 else text[:37] + "..."
    if issubclass(type(value), types.FunctionType | type):
        return f"{value.__name__}"
    return ""

"""Guards: whether what a trace found in places outside of its arguments is still there.

A guard is made of places. It becomes one Python function whose globals are those of the user's
function and whose cells are the user's own, so that a name in it costs what it costs there: a few
nanoseconds. It only reads, in one expression, so any number of threads may ask at a time.
"""

from __future__ import annotations

import functools
import types
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from weft.frontends.driver.frozen.places import Global, GuardedArray, GuardedPlace, Look, joined
from weft.runtime.stub import MISS

FEWEST_JOINED: Final = 3
# No name in it may be one of the user's globals, which the condition reads.
_SOURCE: Final = """
def weft_around({names}):
    def {purpose}({arguments}):
        try:
            if not ({condition}):
                return {other}
        except weft_Exception:
            return {other}
        return {result}
"""
_PREFIX: Final = "weft_"


class Guard:
    """What a trace depended on: the digest of it all (`state`), and the places it was found in.

    `check` says whether everything is still there; `guarded` gives a stub that answers MISS
    where it is not.
    """

    def __init__(self, state: str, places: Sequence[GuardedPlace]) -> None:
        self.state = state
        self.places = tuple(places)
        self._condition: tuple[str, dict[str, types.CellType], dict[str, Any]] | None = None
        self.check: Callable[[], bool] = self._function("weft_check") if places else _holds

    def guarded(self, stub: Callable[..., Any], takes_keywords: bool = False) -> Callable[..., Any]:
        """The stub, for as long as the guard holds; itself where nothing can change."""
        if not self.places:
            return stub
        arguments = "*weft_args, **weft_kwargs" if takes_keywords else "*weft_args"
        guarded: Callable[..., Any] = self._function("weft_guarded", stub, arguments)
        return guarded

    def verify(self) -> bool:
        """The same as `check`, looking at large arrays in full."""
        return self.check() and all(look.now() for _, look in self.looks)

    def differences(self, now: Guard) -> list[str]:
        """What changed since, as reasons for another trace."""
        after = {place.identity: place for place in now.places}
        changed = [place for place in self.places if not Guard("", [place]).check()]
        return [_difference(place, after.get(place.identity)) for place in changed] or [
            "something that it depends on changed"
        ]

    @property
    def looks(self) -> list[tuple[str, Look]]:
        """What is large, of which not all is compared before every call."""
        found = [(place.label, place.look) for place in self.places]
        return [(label, look) for label, look in found if look is not None]

    @property
    def arrays(self) -> list[Any]:
        """The arrays among the places."""
        return [place.owner for place in self.places if isinstance(place, GuardedArray)]

    def _function(self, purpose: str, stub: Any = None, arguments: str = "") -> Any:
        if self._condition is None:
            self._condition = _condition(self.places)
        condition, cells, names = self._condition
        answers = (
            (f"weft_stub({arguments})", "weft_miss") if stub is not None else ("True", "False")
        )
        code = _compiled(condition, tuple(cells), purpose, arguments, *answers)
        own = {"weft_stub": stub, "weft_miss": MISS, "weft_Exception": Exception}
        held = {**cells, **{name: types.CellType(value) for name, value in own.items()}}
        closure = tuple([held[name] for name in code.co_freevars])
        return types.FunctionType(code, names, purpose, None, closure)


def _holds() -> bool:
    return True


def _difference(before: GuardedPlace, now: GuardedPlace | None) -> str:
    then, text = before.shown(), "" if now is None else now.shown()
    if then and text and then != text:
        return f"{before.label} changed from {then} to {text}"
    return f"{before.label} changed"


def _condition(
    places: Sequence[GuardedPlace],
) -> tuple[str, dict[str, types.CellType], dict[str, Any]]:
    """The expression for all places, the cells that it loads from, and its globals."""
    counts = Counter(id(place.owner) for place in places if isinstance(place, Global))
    main = counts.most_common(1)[0][0] if counts else 0
    names: dict[str, Any] = {}
    cells: dict[str, types.CellType] = {}
    known: dict[int, str] = {}

    def bind(value: Any) -> str:
        name = known.get(id(value))
        if name is None:
            name = known[id(value)] = f"{_PREFIX}{len(known)}"
            cells[name] = value if type(value) is types.CellType else types.CellType(value)
        return name

    parts = []
    arrays = [place for place in places if isinstance(place, GuardedArray) and place.is_joined]
    if len(arrays) >= FEWEST_JOINED:
        parts.append(joined(arrays, bind))
        places = [
            place for place in places if not (isinstance(place, GuardedArray) and place.is_joined)
        ]
    for place in places:
        is_apart = isinstance(place, Global) and not place.key.startswith(_PREFIX)
        if isinstance(place, Global) and is_apart and id(place.owner) == main:
            names = place.owner
            parts.append(f"{place.key} is {bind(place.expected)}")
        else:
            parts.append(place.condition(bind))
    return " and ".join(parts), cells, names


@functools.lru_cache(maxsize=512)
def _compiled(
    condition: str, names: tuple[str, ...], purpose: str, arguments: str, result: str, other: str
) -> types.CodeType:
    text = _SOURCE.format(
        names=", ".join((*names, "weft_stub", "weft_miss", "weft_Exception")),
        purpose=purpose,
        arguments=arguments,
        condition=condition,
        result=result,
        other=other,
    )
    code: types.CodeType = compile(text, "<weft guard>", "exec", dont_inherit=True)
    for name in ("weft_around", purpose):
        code = next(
            part
            for part in code.co_consts
            if isinstance(part, types.CodeType) and part.co_name == name
        )
    return code

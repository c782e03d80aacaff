"""A loaded artifact that can be called with arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.compiler.artifact import Artifact

Array = np.ndarray[Any, Any]


class Program:
    """Checks arguments against the artifact's signature and runs its entry."""

    __slots__ = ("artifact",)

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact

    def __call__(self, arguments: Sequence[Array]) -> list[Array]:
        """The results, as arrays that share no memory with the arguments or with each other."""
        sizes = self.artifact.signature.bind(arguments)
        results = self.artifact.entry(arguments, sizes)
        return _separate(results, arguments)


def _separate(results: list[Array], arguments: Sequence[Array]) -> list[Array]:
    """Copies of results that are, or are views of, anything the caller holds or another result."""
    taken = {id(_owner(argument)) for argument in arguments}
    separate = []
    for result in results:
        owner = _owner(result)
        if id(owner) in taken or not result.flags.writeable:
            result = result.copy()
            owner = result
        taken.add(id(owner))
        separate.append(result)
    return separate


def _owner(array: Array) -> Any:
    """The object that holds an array's memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array if array.base is None else array.base

"""Where compiled programs are kept on disk, so that a second process need not make them.

A program is found in two ways. By its **graph**: after tracing, a digest of the graph finds what
passes, planning and LLVM made of it; that is sound whatever the function did. By its **function**:
where everything that a trace can depend on is understood (`understood`), a digest of that finds the
graph's, and the function is not even run. What is not understood is traced.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import struct
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.frontends.driver.cache import sources
from weft.frontends.driver.cache.stored import (
    FORMAT,
    StoredProgram,
    Unstorable,
    Untraced,
    decode,
    decode_untraced,
    encode,
    encode_untraced,
)
from weft.frontends.tracing import tree
from weft.frontends.tracing.arguments import Call

if TYPE_CHECKING:
    from weft.compiler.ir.graph import Graph
    from weft.compiler.ir.location import Location
    from weft.runtime.cache import Cache

Strides = tuple[int | None, ...]
_FIXED: Final = "fixed leaves"
_UNREADABLE: Final = (ValueError, KeyError, TypeError, IndexError, struct.error)
_SHOWS_WARNINGS: Final = getattr(warnings, "_showwarning_orig", warnings.showwarning)
_CHANGED: Final = "Weft's own sources changed since they were loaded"


class ProgramEntry:
    """The place on disk of one version of a function: looks there for programs, and keeps them.

    `note` says how that went. `options` are what a program depends on beside its graph; `refused`
    says why nothing is kept, if so.
    """

    def __init__(
        self,
        cache: Cache,
        function: Callable[..., Any],
        call: Call,
        options: Sequence[Any],
        refused: str = "",
    ) -> None:
        self._cache = cache
        self._options = tuple(options)
        self._function_digest = functools.partial(_function_digest, function, call, self._options)
        self._untraced: str | None = None  # the digest of the function, if it is understood
        self._graph: str | None = None  # the digest of its graph, once that is known
        self._why_traced = ""
        self._refused = refused
        self._kept = ""
        if not refused and cache.directory is None:
            self._refused = "there is no cache directory"
        elif not refused and environment() is None:
            self._refused = _CHANGED

    @property
    def note(self) -> str:
        """Whether the program was found, and by what, or kept, or why neither; and why the function
        was traced.
        """
        if self._refused:
            return f"not kept: {self._refused}"
        traced = f"; traced, as {self._why_traced}" if self._why_traced else ""
        return f"{self._kept}{traced}" if self._kept else ""

    # --- before tracing ---

    def find_untraced(self) -> tuple[StoredProgram, tree.TreeDef] | None:
        """The program of a function that is understood, and how its results are put together."""
        if self._refused:
            return None
        self._untraced = self._try_digest()
        data = None if self._untraced is None else self._cache.get(self._key(self._untraced))
        if data is None:
            return None
        try:
            known = decode_untraced(data)
        except _UNREADABLE:
            return None
        self._graph = known.graph
        stored = self._find((), "its function")
        if stored is None or len(stored.artifact.signature.results) != known.out_tree.num_leaves:
            self._graph = None
            return None
        return stored, known.out_tree

    def _try_digest(self) -> str | None:
        from weft.frontends.driver.cache.understood import NotUnderstood

        try:
            return self._function_digest()
        except NotUnderstood as reason:
            self._why_traced = str(reason)
        except Exception as error:  # looking at a user's object can run the user's code
            self._why_traced = f"looking at the function raised {error!r}"
        return None

    def find_fixed(self) -> tuple[int, ...]:
        """Which leaves an earlier process found that the trace of the function needs to know."""
        digest = None if self._refused else self._try_digest()
        data = None if digest is None else self._cache.get(self._key(digest, _FIXED))
        try:
            return () if data is None else tuple(map(int, data.decode().split()))
        except _UNREADABLE:
            return ()

    def keep_fixed(self, positions: Iterable[int]) -> None:
        """Let later processes know them."""
        digest = None if self._refused else self._try_digest()
        if digest is not None:
            text = " ".join(map(str, sorted(positions)))
            self._cache.put(self._key(digest, _FIXED), text.encode())

    # --- after tracing ---

    def traced(self, graph: Graph, written: Mapping[int, int] | None) -> None:
        """To be called with the graph that tracing gave, and with the results that are `written` to
        arguments: what else a function writes to only its trace tells.
        """
        if self._refused:
            return
        if not sources.are_unchanged():
            self._refused = _CHANGED
            return
        if has_host_calls(graph):
            self._refused = "it calls back into Python"
            return
        if self._untraced is not None and self._try_digest() != self._untraced:
            self._untraced = None
            self._why_traced = "tracing it changes a value that it depends on"
        if written is not None:
            self._untraced, self._why_traced = None, "it writes to its arguments"
        self._graph = _graph_digest(graph, (*self._options, written))

    def find(self, strides: Sequence[tuple[int, Strides]] = ()) -> StoredProgram | None:
        """The program of the graph for arguments of these strides, if an earlier process left
        it.
        """
        return self._find(strides, "its graph")

    def _find(self, strides: Sequence[tuple[int, Strides]], by: str) -> StoredProgram | None:
        if self._refused or self._graph is None:
            return None
        data = self._cache.get(self._key(self._graph, *strides))
        if data is None:
            return None
        try:
            stored = decode(data)
        except _UNREADABLE:
            return None
        self._kept = self._kept or f"found on disk by {by}, {len(data):,} bytes"
        return stored

    def keep(
        self,
        stored: StoredProgram,
        out_tree: tree.TreeDef,
        strides: Sequence[tuple[int, Strides]],
    ) -> None:
        """Leave a program for later processes."""
        if self._refused or self._graph is None:
            return
        try:
            data = encode(stored)
        except Unstorable as reason:
            self._refused = str(reason)
            return
        problem = self._cache.put(self._key(self._graph, *strides), data)
        if problem:
            self._kept = self._kept or f"not found on disk, and not kept: {problem}"
            return
        self._kept = self._kept or f"not found on disk; kept, {len(data):,} bytes"
        self.keep_untraced(out_tree)

    def keep_untraced(self, out_tree: tree.TreeDef) -> None:
        """Let later processes find the graph's program without tracing, if that is sound."""
        if self._refused or self._untraced is None or self._graph is None:
            return
        try:
            data = encode_untraced(Untraced(self._graph, out_tree))
        except Unstorable as reason:
            self._untraced, self._why_traced = None, str(reason)
            return
        self._cache.put(self._key(self._untraced), data)

    def _key(self, digest: str, *more: object) -> str:
        return _digest(repr((environment(), digest, more)))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def _function_digest(function: Callable[..., Any], call: Call, options: tuple[Any, ...]) -> str:
    """A digest of a function and of the kind of its arguments; raises `NotUnderstood`."""
    from weft.frontends.driver.cache.understood import Digest

    digest = Digest()
    digest.add(function, "the function")
    digest.add(tree.unflatten(call.treedef, range(len(call.leaves))), "the structure of arguments")
    kinds = {leaf.kind: None for leaf in call.leaves}
    numbers = {kind: number for number, kind in enumerate(kinds)}
    digest.add(tuple(kinds), "an argument")
    leaves = [f"{numbers[leaf.kind]} {leaf.name!r}" for leaf in call.leaves]
    digest.add("\n".join(leaves), "an argument")
    for argument_key, value in (*call.static, *call.fixed):
        digest.add((argument_key, value), f"the static argument {argument_key}")
    digest.add(options, "an option")
    digest.add(_process_state(), "the state of the process")
    digest.add(np.geterrcall(), "np.geterrcall()")
    if warnings.showwarning is not _SHOWS_WARNINGS:
        digest.add(warnings.showwarning, "warnings.showwarning")
    return digest.hexdigest()


def _process_state() -> tuple[Any, ...]:
    """What decides how numbers become text and errors are handled."""
    printing = [(name, repr(value)) for name, value in np.get_printoptions().items()]
    limits = getattr(sys, "get_int_max_str_digits", int)(), sys.getrecursionlimit()
    locale = sys.modules.get("locale")
    spelling = "C" if locale is None else locale.setlocale(locale.LC_NUMERIC)
    return *np.geterr().items(), *printing, *limits, spelling, repr(warnings.filters)


def _graph_digest(graph: Graph, options: tuple[Any, ...]) -> str:
    """A digest of a graph, of the names and places that error messages tell, and of what else its
    program depends on.
    """
    from weft.compiler.ir.walk import walk

    lines = [graph.content_hash(), graph.name, repr(options)]
    lines += [repr(parameter.name) for parameter in graph.parameters]
    codes: dict[CodeType, str] = {}
    places: dict[int, str] = {}  # by identity: locations are compared by the text that they print
    for op in walk(graph):
        place = places.get(id(op.location))
        if place is None:
            place = places[id(op.location)] = _place(op.location, codes)
        lines.append(place)
    return _digest("\n".join(lines))


def _place(location: Location | None, codes: dict[CodeType, str]) -> str:
    """What a location prints is determined by this; the text itself would take long to find."""
    if location is None:
        return ""
    if location.instruction is None:
        return repr(location)
    code, offset = location.instruction
    if code not in codes:
        names = (*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars)
        consts = [each for each in code.co_consts if not isinstance(each, CodeType)]
        parts = (code.co_filename, code.co_code, code.co_linetable, names, consts)
        codes[code] = _digest(repr(parts))
    return f"{codes[code]} {offset} {location.line}"


def has_host_calls(graph: Graph) -> bool:
    """Whether it calls Python functions, which a graph knows by name only. Exceptions that it
    raises are known by their text, unless the user's class cannot be found by its name.
    """
    from weft.compiler.ir.walk import walk

    calls = [op for op in walk(graph) if op.definition.is_host]
    return any(op.name != "fail" or op.attributes["made_by"].function is not None for op in calls)


@functools.cache
def environment() -> tuple[str, ...] | None:
    """What code depends on beside the graph; None if that cannot be told."""
    import llvmlite

    from weft.compiler.lower.llvm.target import host

    own = sources.digest()
    if own is None:
        return None
    return (
        FORMAT.decode(),
        own,
        sys.version,
        sys.implementation.name,
        np.__version__,
        llvmlite.__version__,
        host().key,
        _stamp("numpy"),
        _stamp("scipy"),
    )


def _stamp(package: str) -> str:
    """What tells releases of a package apart, without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return ""
    status = os.stat(spec.origin)
    return f"{spec.origin} {status.st_size} {status.st_mtime_ns}"

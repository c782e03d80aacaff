"""Machine code in this process: compiled on all cores, kept on disk, and the part of it that all
programs share: the call stub, the thread pool, matrix products, convolutions, and what
mathematical functions seldom call.

Shared code is compiled once per machine, in other threads while a program is still being traced.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from weft.compiler.abi import PARALLEL
from weft.compiler.ir.stages import LOWERING, stage
from weft.frontends.driver.background import BackgroundCall
from weft.frontends.driver.cache.entry import environment
from weft.runtime import headroom, symbols
from weft.runtime.cache import Cache, open_cache
from weft.runtime.cores import available_cores
from weft.runtime.forking import unforked
from weft.runtime.native import Library
from weft.runtime.python_api import keep_for_ever
from weft.runtime.stub import Caller
from weft.runtime.threads import Pool

if TYPE_CHECKING:
    from weft.compiler.ir.graph import Graph, Op
    from weft.compiler.lower.llvm.emit.function import Module

STUB: Final = "stub"
POOL: Final = "pool"
CIRCULAR: Final = ("sin", "cos", "tan")
_CALLING: Final = frozenset((*CIRCULAR, "dot_general", "convolution"))
# Multiplications of a product from which it is likely to call shared code.
LARGE_PRODUCT: Final = 1 << 15


@functools.cache
def disk() -> Cache:
    """The cache of object code on disk."""
    return open_cache()


# --- compiling ----------------------------------------------------------------------------------


def compile_text(text: str, *, is_kept: bool = True) -> bytes:
    """Object code of LLVM text, from the disk if it was compiled before, unless it `is_kept`
    nowhere.
    """
    from weft.compiler.lower.llvm import machine as driver

    key = _key(driver.host().key, text)
    code = disk().get(key) if is_kept else None
    if code is None:
        bytes = headroom.LLVM_BYTES + headroom.LLVM_BYTES_OF_TEXT * len(text)
        headroom.require(bytes, "LLVM")
        with unforked():
            code = driver.compile_text(text)
        if is_kept:
            disk().put(key, code)
    return code


def compile_texts(texts: Sequence[str]) -> list[bytes]:
    """Object code of several texts, all compiled at the same time."""
    others = [BackgroundCall(functools.partial(compile_text, text)) for text in texts[1:]]
    return [compile_text(texts[0]), *[other.result() for other in others]]


def _key(target: str, text: str) -> str:
    return hashlib.blake2b(f"{target}\n{text}".encode(), digest_size=20).hexdigest()


# --- shared code --------------------------------------------------------------------------------


@functools.cache
@headroom.out_of_memory_is_memory_error
def caller() -> Caller:
    """The process's one thread pool and call stub."""
    (stub,), (pool,) = _Shared.find(STUB).images, _Shared.find(POOL).images
    return Caller(stub, Pool(pool))


def support(name: str) -> int:
    """The address of a function that programs import: of shared code, or of BLAS or LAPACK."""
    from weft.compiler.lower.llvm import linkage

    shared = linkage.shared(name)
    return symbols.address(name) if shared is None else _linked(shared).address(name)


@functools.cache
def _linked(name: str) -> Library:
    """Shared code that programs are linked to."""
    shared = _Shared.find(name)
    imports = {tile: support(tile) for tile in shared.needed}
    imports[PARALLEL] = caller().pool.parallel
    library = Library(shared.images, shared.exports, imports)
    keep_for_ever(library)  # programs that outlive this module hold its addresses
    return library


def anticipate(graph: Graph | None = None) -> None:
    """Begin to compile what a program will be linked to and is not on disk yet: for a graph the
    products it has, at any rate what calls it.
    """
    if caller.cache_info().currsize == 0:
        _begin(STUB)
        _begin(POOL)
    if graph is not None:
        calling = [op for region in graph.regions() for op in region.ops if op.name in _CALLING]
        for name in dict.fromkeys([name for op in calling for name in _calls(op)]):
            _begin(name)


def _calls(op: Op) -> list[str]:
    """The shared code that an op is likely to call."""
    from weft.compiler.lower.llvm.linkage import CONVOLUTIONS, MATH, PRODUCTS

    if op.name in CIRCULAR:
        return [MATH]
    from weft.compiler.loops.costs import product_steps

    dtype = op.operands[0].type.dtype
    steps = product_steps(op)
    if not dtype.is_float or (steps is not None and steps < LARGE_PRODUCT):
        return []
    products = f"{PRODUCTS}{dtype.name}"
    return [products] if op.name == "dot_general" else [products, f"{CONVOLUTIONS}{dtype.name}"]


class _Shared:
    """Objects that are linked together, with the functions they have and those they need."""

    __slots__ = ("exports", "needed", "images")

    def __init__(
        self, exports: Sequence[str], needed: Sequence[str], images: Sequence[bytes]
    ) -> None:
        self.exports = list(exports)
        self.needed = list(needed)
        self.images = list(images)

    @classmethod
    def find(cls, name: str) -> _Shared:
        """From the disk, or compiled now if nobody has begun that yet."""
        begun = _begun.get(name)
        if begun is not None:
            return begun.result()
        return cls.on_disk(name) or cls.made(name)

    @classmethod
    def on_disk(cls, name: str) -> _Shared | None:
        """Found without loading what makes it."""
        key = _shared_key(name)
        data = None if key is None else disk().get(key)
        return None if data is None else cls._decoded(data)

    @classmethod
    def made(cls, name: str) -> _Shared:
        with stage(LOWERING, name):
            texts, exports, needed = _texts(name)
        shared = cls(exports, needed, compile_texts(texts))
        key = _shared_key(name)
        if key is not None:
            disk().put(key, shared._encoded())
        return shared

    def _encoded(self) -> bytes:
        head = [self.exports, self.needed, [len(image) for image in self.images]]
        return json.dumps(head).encode() + b"\n" + b"".join(self.images)

    @classmethod
    def _decoded(cls, data: bytes) -> _Shared:
        head, _, rest = data.partition(b"\n")
        exports, needed, lengths = json.loads(head)
        images = []
        for length in lengths:
            images.append(rest[:length])
            rest = rest[length:]
        return cls(exports, needed, images)


def _shared_key(name: str) -> str | None:
    made_of = environment()
    return None if made_of is None else _key(repr(made_of), name)


def _texts(name: str) -> tuple[list[str], list[str], list[str]]:
    """The LLVM texts of shared code, the functions that it is known by, and those it needs."""
    from weft.compiler.lower.llvm import linkage
    from weft.compiler.lower.llvm.target import host

    if name == STUB:
        from weft.compiler.lower.llvm.support.stub import stub_text

        return [stub_text(host().triple)], [], []
    if name == POOL:
        from weft.compiler.lower.llvm.support.pool import pool_text

        return [pool_text(host().triple)], [], []
    module: Module
    if name == linkage.MATH:
        from weft.compiler.lower.llvm.math import shared

        module, exports = shared.module(), shared.exports()
    elif name.startswith(linkage.PRODUCTS):
        from weft.compiler.lower.llvm.routines.gemm import kinds
        from weft.compiler.lower.llvm.routines.gemm.gemm import module_of

        kind = kinds.KINDS[name.removeprefix(linkage.PRODUCTS)]
        module, exports = module_of(kind), kind.exports(host())
    else:
        from weft.compiler.ir.dtypes import named
        from weft.compiler.lower.llvm.routines.convolution import entry

        dtype = named(name.removeprefix(linkage.CONVOLUTIONS))
        module, exports = entry.module_of(dtype), entry.exports(dtype)
    return module.texts(available_cores()), exports, linkage.imports(module)


_begun: Final[dict[str, BackgroundCall[_Shared]]] = {}


def _begin(name: str) -> None:
    if name not in _begun and _Shared.on_disk(name) is None:
        _begun[name] = BackgroundCall(functools.partial(_Shared.made, name))

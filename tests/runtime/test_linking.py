"""Linking of object code: what objects refer to, memory that is given back, spread addresses."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.runtime.support import python
from weft.compiler.lower.llvm.machine import compile_text
from weft.runtime import elf
from weft.runtime.native import Library, LLVMBlock

# Code, constants in a section of their own, a table of pointers, memory that is written, and calls
# to another object, to the process and to what is imported.
FIRST = """
@table = internal constant [2 x ptr] [ptr @twice, ptr @half]
@count = internal global i64 40
@zeros = internal global [600 x i64] zeroinitializer
@given = external global i64
declare i64 @third(i64)
declare i64 @labs(i64)
declare double @imported(double)
define internal double @twice(double %x) {
  %y = fmul double %x, 2.25
  ret double %y
}
define internal double @half(double %x) {
  %y = fmul double %x, 0.625
  ret double %y
}
define double @apply(i64 %which, double %x) {
  %place = getelementptr [2 x ptr], ptr @table, i64 0, i64 %which
  %function = load ptr, ptr %place
  %y = call double %function(double %x)
  ret double %y
}
define i64 @next() {
  %old = load i64, ptr @count
  %new = add i64 %old, 1
  store i64 %new, ptr @count
  %place = getelementptr i64, ptr @zeros, i64 %new
  %zero = load i64, ptr %place
  %sum = add i64 %new, %zero
  ret i64 %sum
}
define i64 @outside(i64 %x) {
  %a = call i64 @labs(i64 %x)
  %b = call i64 @third(i64 %a)
  %c = load i64, ptr @given
  %d = add i64 %b, %c
  ret i64 %d
}
define double @call_imported(double %x) {
  %y = call double @imported(double %x)
  ret double %y
}
"""
SECOND = """
define i64 @third(i64 %x) {
  %y = sdiv i64 %x, 3
  ret i64 %y
}
"""
EXPORTS = ["apply", "next", "outside", "call_imported", "third"]
Unary = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
GIVEN = ctypes.c_int64(1000)
IMPORTED = Unary(lambda x: x + 0.5)


@functools.cache
def objects() -> list[bytes]:
    return [compile_text(FIRST), compile_text(SECOND)]


def imports() -> dict[str, int]:
    function = ctypes.cast(IMPORTED, ctypes.c_void_p).value
    assert function is not None
    return {"imported": function, "given": ctypes.addressof(GIVEN)}


def function(library: Any, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    return ctypes.CFUNCTYPE(result, *arguments)(library.address(name))


def check(library: Any) -> None:
    real, whole = ctypes.c_double, ctypes.c_int64
    apply = function(library, "apply", real, whole, real)
    assert [apply(0, 2.0), apply(1, 2.0)] == [4.5, 1.25]
    following = function(library, "next", whole)
    assert [following(), following()] == [41, 42]
    assert function(library, "outside", whole, whole)(-9) == 1003
    assert function(library, "third", whole, whole)(10) == 3
    assert function(library, "call_imported", real, real)(1.0) == 1.5


def is_mapped(address: int) -> bool:
    with open("/proc/self/maps", encoding="ascii") as lines:
        ranges = [line.split()[0].split("-") for line in lines]
    return any(int(start, 16) <= address < int(end, 16) for start, end in ranges)


@pytest.mark.parametrize("linker", [Library, LLVMBlock])
def test_objects_reach_each_other_the_process_and_imports(
    linker: Callable[[Sequence[bytes], Sequence[str], dict[str, int]], Any],
) -> None:
    check(linker(objects(), EXPORTS, imports()))


def test_libraries_have_data_of_their_own() -> None:
    check(Library(objects(), EXPORTS, imports()))
    check(Library(objects(), EXPORTS, imports()))


@pytest.mark.skipif(sys.platform != "linux", reason="reads the maps of the process")
@pytest.mark.parametrize("is_closed", [True, False])
def test_memory_is_given_back_with_the_library(is_closed: bool) -> None:
    library = Library(objects(), EXPORTS, imports())
    address = library.address("next")
    assert is_mapped(address)
    if is_closed:
        library.close()
    else:
        del library
    assert not is_mapped(address)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the maps of the process")
def test_code_cannot_be_written() -> None:
    library = Library(objects(), EXPORTS, imports())
    address = library.address("next")
    with open("/proc/self/maps", encoding="ascii") as lines:
        rights = [
            line.split()[1]
            for line in lines
            if int(line.split("-")[0], 16) <= address < int(line.split("-")[1].split()[0], 16)
        ]
    assert rights == ["r-xp"]


@pytest.mark.parametrize(
    "images, exports, message",
    [
        ([SECOND, SECOND], ["third"], "two objects define third"),
        ([SECOND], ["fourth"], "no symbol fourth"),
        (
            ["declare void @weft_nowhere()\ndefine void @f() {\n  call void @weft_nowhere()\n"
             "  ret void\n}"],
            ["f"],
            "needs weft_nowhere, which nothing defines",
        ),
        (
            ["@t = thread_local global i64 1\ndefine ptr @f() {\n  ret ptr @t\n}"],
            ["f"],
            "thread-local",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_linked_is_named(
    images: list[str], exports: list[str], message: str
) -> None:
    compiled = [compile_text(text) for text in images]
    if not all(map(elf.is_loadable, compiled)):
        pytest.skip("objects of another kind")
    with pytest.raises(elf.LinkError, match=message):
        Library(compiled, exports)


def test_a_weak_definition_gives_way() -> None:
    weak = compile_text("define weak i64 @third(i64 %x) {\n  ret i64 7\n}")
    strong = objects()[1]
    for images in ([weak, strong], [strong, weak]):
        library = Library(images, ["third"])
        assert function(library, "third", ctypes.c_int64, ctypes.c_int64)(9) == 3


# Holes of a page, more than 2 GiB apart: sections that are mapped one by one land in two of them.
SPREAD = """
import ctypes, mmap
from tests.runtime import test_linking
objects = test_linking.objects()  # what compiles them is loaded before
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
NO_RESERVE, step, holes = 0x4000, (1 << 31) + mmap.PAGESIZE, 1000
flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
base = libc.mmap(None, step * holes, 0, flags, -1, 0)
assert base not in (None, ctypes.c_void_p(-1).value)
for hole in range(1, holes):
    libc.munmap(base + hole * step, mmap.PAGESIZE)
libraries = []
for _ in range(600):
    imports = test_linking.imports()
    libraries.append(test_linking.Library(objects, test_linking.EXPORTS, imports))
    test_linking.check(libraries[-1])
print(sum(base < library.address("next") < base + holes * step for library in libraries))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="lays out memory as Linux does")
def test_libraries_are_linked_where_memory_is_spread() -> None:
    result = python(SPREAD)
    assert result.returncode == 0, result.stderr[-2000:]


def test_linking_does_not_load_llvm() -> None:
    code = """
import sys
from weft.runtime.native import Library
Library(bytes.fromhex(CODE), ["third"])
print("llvmlite" in sys.modules)
"""
    image = objects()[1]
    if not elf.is_loadable(image):
        pytest.skip("objects of another kind")
    result = python(code.replace("CODE", repr(image.hex())))
    assert result.stdout.strip() == "False", result.stderr

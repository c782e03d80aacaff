"""The shape of the source tree: who imports whom, the links, and how long files may get.

Sources are read as syntax trees, so an import inside a function counts as one at the top.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("compiler", "runtime", "frontends")
SOURCES = sorted(
    path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")
)

# What all of the backend may import.
LOWERED = ("compiler.ir", "compiler.ops", "compiler.abi", "compiler.artifact")

# What each part may import of Weft, besides itself. A new part needs a line here.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "compiler.record": (),
    "compiler.ir": (),
    "compiler.ops": ("compiler.ir",),
    "compiler.parsing": ("compiler.ir", "compiler.ops"),
    "compiler.artifact": ("compiler.ir",),
    "compiler.abi": (),
    "compiler.transforms": ("compiler.ir", "compiler.ops"),
    "compiler.rewrite": ("compiler.ir", "compiler.ops"),
    "compiler.passes": (
        "compiler.ir",
        "compiler.ops",
        "compiler.transforms",
        "compiler.rewrite",
    ),
    "compiler.loops": ("compiler.ir", "compiler.ops"),
    "compiler.lower.choice": (),
    "compiler.lower.llvm.target": (),
    "compiler.lower.llvm.emit": (*LOWERED, "compiler.lower.choice", "compiler.lower.llvm.target"),
    "compiler.lower.llvm.linkage": (*LOWERED, "compiler.lower.llvm.emit"),
    "compiler.lower.llvm.ternary_logic": ("compiler.lower.llvm.target",),
    "compiler.lower.llvm.machine": (
        "compiler.ir",
        "compiler.lower.llvm.target",
        "compiler.lower.llvm.emit.blocks",
        "compiler.lower.llvm.ternary_logic",
    ),
    "compiler.lower.llvm.math": (
        *LOWERED,
        "compiler.lower.llvm.emit",
        "compiler.lower.llvm.linkage",
    ),
    "compiler.lower.llvm.scalar": (
        *LOWERED,
        "compiler.lower.scalar_form",
        "compiler.lower.llvm.emit",
        "compiler.lower.llvm.math",
    ),
    "compiler.lower.llvm.support": (*LOWERED, "compiler.lower.llvm.emit"),
    "compiler.lower.llvm.kernels": (
        *LOWERED,
        "compiler.loops",
        "compiler.lower.llvm.emit",
        "compiler.lower.llvm.scalar",
    ),
    "compiler.lower.llvm.routines": (
        *LOWERED,
        "compiler.lower.choice",
        "compiler.lower.llvm.target",
        "compiler.lower.llvm.emit",
        "compiler.lower.llvm.math",
        "compiler.lower.llvm.scalar",
        "compiler.lower.llvm.linkage",
    ),
    "compiler.lower.llvm.program": (
        *LOWERED,
        "compiler.loops",
        "compiler.lower.choice",
        "compiler.lower.llvm.target",
        "compiler.lower.llvm.emit",
        "compiler.lower.llvm.scalar",
        "compiler.lower.llvm.kernels",
        "compiler.lower.llvm.routines",
        "compiler.lower.llvm.linkage",
    ),
    "compiler.lower": (*LOWERED, "compiler.loops"),
    "runtime": ("compiler.abi", "compiler.artifact"),
    # The front ends, each on those above it. Room is left, by name, for `optim` (on numpy, as nn),
    # `interop.<library>` (on compiler.ir, compiler.ops and tracing) and `tools` (on inspect).
    "frontends.tracing": ("compiler.ir", "compiler.ops"),
    "frontends.regions": (
        "compiler.ir",
        "compiler.ops",
        "compiler.transforms",
        "frontends.tracing",
    ),
    "frontends.numpy": (
        "compiler.ir",
        "compiler.ops",
        "frontends.tracing",
        "frontends.regions",
    ),
    "frontends.driver": (
        "compiler.ir",
        "compiler.ops",
        "compiler.transforms",
        "compiler.passes",
        "compiler.rewrite",
        "compiler.loops",
        "compiler.lower",
        "compiler.parsing",
        "compiler.abi",
        "compiler.artifact",
        "runtime",
        "frontends.tracing",
    ),
    "frontends.eager": (
        "compiler.ir",
        "runtime",
        "frontends.tracing",
        "frontends.numpy",
        "frontends.driver",
    ),
    "frontends.scipy": (
        "compiler.ir",
        "compiler.ops",
        "frontends.tracing",
        "frontends.regions",
        "frontends.numpy",
        "frontends.eager",
    ),
    "frontends.random": (
        "compiler.ir",
        "compiler.ops",
        "frontends.tracing",
        "frontends.regions",
        "frontends.numpy",
        "frontends.eager",
    ),
    "frontends.nn": (
        "compiler.ir",
        "compiler.ops",
        "frontends.tracing",
        "frontends.numpy",
        "frontends.eager",
    ),
    "frontends.flow": (
        "compiler.ir",
        "compiler.ops",
        "frontends.tracing",
        "frontends.regions",
        "frontends.numpy",
        "frontends.scipy",
    ),
    "frontends.inspect": (
        "compiler.ir",
        "compiler.ops",
        "compiler.passes",
        "compiler.loops",
        "compiler.lower",
        "compiler.abi",
        "runtime",
        "frontends.driver",
    ),
    "frontends.api": (
        "compiler.ir",
        "compiler.ops",
        "compiler.transforms",
        "compiler.rewrite",
        "compiler.passes",
        "frontends.tracing",
        "frontends.regions",
        "frontends.numpy",
        "frontends.driver",
        "frontends.eager",
        "frontends.flow",
        "frontends.inspect",
    ),
    "frontends.sparse": (
        "compiler.ir",
        "compiler.transforms",
        "frontends.tracing",
        "frontends.regions",
        "frontends.numpy",
        "frontends.driver",
        "frontends.eager",
        "frontends.api",
    ),
}
# Modules that import each other in a circle, to be taken apart; none may be added.
KNOWN_CYCLES: tuple[frozenset[str], ...] = ()
EVERYWHERE = ("compiler.record",)
DEFERRED = {"scipy", "sympy", "numba", "llvmlite", "opt_einsum"}
MOST_LINES_OF_A_FILE = 600
MOST_LINES_OF_A_FUNCTION = 60


def tree_of(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"), str(path))


def dotted(path: Path) -> str:
    """`compiler/ir/dims.py` as `compiler.ir.dims`."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def is_in(module: str, part: str) -> bool:
    return module == part or module.startswith(part + ".")


def imports(nodes: Iterator[ast.AST]) -> Iterator[tuple[int, str]]:
    """Line and full name of everything imported: `from a import b` gives `a.b`."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def at_import_time(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when the module is imported, not those in functions or for checkers."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from at_import_time(child)


def but_for_checkers(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that can run, functions included, not those for type checkers only."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield child
            yield from but_for_checkers(child)


def imported_modules() -> dict[str, set[str]]:
    """Which modules of Weft each module imports, at the top or in functions."""
    known = {dotted(path): path for path in SOURCES}
    graph: dict[str, set[str]] = {}
    for module, path in known.items():
        graph[module] = set()
        for _, name in imports(but_for_checkers(tree_of(path))):
            target = name.removeprefix("weft.")
            while target and target not in known:
                target = target.rpartition(".")[0]
            if target and target != module:
                graph[module].add(target)
    return graph


def circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """The sets of modules from each of which all others of the set are reached."""

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        stack = [start]
        while stack:
            for module in graph[stack.pop()] - found:
                found.add(module)
                stack.append(module)
        return found

    reach = {module: reached(module) for module in graph}
    return {
        frozenset(other for other in reach[module] if module in reach[other])
        for module in graph
        if module in reach[module]
    }


def part_of(module: str) -> str | None:
    return next((part for part in MAY_IMPORT if is_in(module, part)), None)


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_imports_keep_their_direction(path: Path) -> None:
    if dotted(path) in FOLDERS:
        assert not (ROOT / path).read_text().strip(), f"{path} must stay empty"
        return
    part = part_of(dotted(path))
    assert part is not None, f"{path} belongs to no part in MAY_IMPORT"
    for line, name in imports(ast.walk(tree_of(path))):
        assert not name.startswith("."), f"{path}:{line} has a relative import"
        if not is_in(name, "weft"):
            continue
        target = name.removeprefix("weft.")
        allowed = (part, *EVERYWHERE, *MAY_IMPORT[part])
        assert any(is_in(target, other) for other in allowed), (
            f"{path}:{line} imports {name}; {part} may import {', '.join(allowed)}"
        )


def test_parts_import_each_other_in_one_direction() -> None:
    assert not circles(
        {part: set(others) & MAY_IMPORT.keys() for part, others in MAY_IMPORT.items()}
    )


def test_modules_do_not_import_each_other_in_circles() -> None:
    found = circles(imported_modules())
    new = sorted(sorted(circle) for circle in found - set(KNOWN_CYCLES))
    assert not new, f"these modules import each other in a circle: {new}"
    gone = sorted(sorted(circle) for circle in set(KNOWN_CYCLES) - found)
    assert not gone, f"take out of KNOWN_CYCLES what is no circle any more: {gone}"


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_heavy_libraries_are_imported_where_they_are_needed(path: Path) -> None:
    for line, name in imports(at_import_time(tree_of(path))):
        assert name.split(".")[0] not in DEFERRED, (
            f"{path}:{line} imports {name} when Weft is imported; import it inside the function"
        )


def test_importing_weft_loads_no_heavy_library() -> None:
    code = "import sys, weft.compiler.parsing, weft.frontends.api.jit; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        check=True,
        text=True,
    )
    assert not DEFERRED & {name.split(".")[0] for name in run.stdout.split()}


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_file_opens_with_a_docstring(path: Path) -> None:
    tree = tree_of(path)
    assert not tree.body or ast.get_docstring(tree), f"{path} does not say what it is for"


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_file_and_its_functions_are_not_too_long(path: Path) -> None:
    length = len((ROOT / path).read_text(encoding="utf-8").splitlines())
    assert length <= MOST_LINES_OF_A_FILE, f"{path} has {length} lines; split it by meaning"
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines <= MOST_LINES_OF_A_FUNCTION, (
                f"{path}:{node.lineno} {node.name} has {lines} lines"
            )


@pytest.mark.parametrize("folder", FOLDERS)
def test_package_links_to_the_folder_at_the_root(folder: str) -> None:
    link = ROOT / "src" / "weft" / folder
    assert link.is_symlink()
    assert os.readlink(link) == f"../../{folder}"
    assert link.resolve() == (ROOT / folder).resolve()

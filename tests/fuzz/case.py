"""A program of the fuzzer: source text, arguments as expressions, and what is done with it."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import numpy as np

from tests.fuzz.arguments import numbers, sparse
from tests.fuzz.numpy_side import compiled_namespace, namespace


@dataclass(frozen=True)
class Case:
    """`source` defines `f`; `check` names what is asserted of it, with options (`checks.py`)."""

    source: str
    arguments: tuple[str, ...]
    check: str = "value"
    options: Mapping[str, Any] = field(default_factory=dict)
    features: tuple[str, ...] = ()

    def values(self) -> list[Any]:
        """The arguments, made anew."""
        names = {"np": np, "numbers": numbers, "sparse": sparse}
        return [eval(text, dict(names)) for text in self.arguments]

    def plain(self) -> Callable[..., Any]:
        """The function as NumPy runs it."""
        names = namespace()
        exec(compile(self.source, "<plain>", "exec"), names)
        return names["f"]  # type: ignore[no-any-return]

    def traced(self) -> Callable[..., Any]:
        """The function as Weft traces it; its source can be read, as that of a file."""
        name = f"<fuzz {self.key()}>"
        linecache.cache[name] = (
            len(self.source),
            None,
            self.source.splitlines(keepends=True),
            name,
        )
        names = compiled_namespace(name)
        exec(compile(self.source, name, "exec"), names)
        return names["f"]  # type: ignore[no-any-return]

    def key(self) -> str:
        """A short name that depends on everything."""
        text = repr((self.source, self.arguments, self.check, sorted(self.options.items())))
        return sha256(text.encode()).hexdigest()[:10]

    def with_check(self, check: str, **options: Any) -> Case:
        return replace(self, check=check, options=options)

    def test(self, message: str) -> str:
        """A test file that runs this case; the message says how it failed when it was found."""
        said = message.split("\n")[0].replace("\\", "/").replace('"', "'")[:80]
        lines = [
            f'"""Found by the fuzzer: {said}."""',
            "",
            "from __future__ import annotations",
            "",
        ]
        lines += ["from tests.fuzz.case import Case", "from tests.fuzz.checks import assert_holds"]
        lines += ["", 'SOURCE = """\\', *self.source.rstrip().splitlines(), '"""', "", ""]
        lines += [f"def test_{self.check}() -> None:", "    arguments = ("]
        lines += [f"        {text!r}," for text in self.arguments]
        call = f"Case(SOURCE, arguments, {self.check!r}, {dict(self.options)!r})"
        lines += ["    )", f"    assert_holds({call})"]
        return "\n".join(lines) + "\n"


def write(name: str, parameters: list[str], body: list[str], results: list[str]) -> str:
    """The source of a function."""
    lines = [*body, f"return {', '.join(results)}"]
    return (
        f"def {name}({', '.join(parameters)}):\n" + textwrap.indent("\n".join(lines), "    ") + "\n"
    )

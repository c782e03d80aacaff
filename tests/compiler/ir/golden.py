"""Golden texts: what a graph prints, kept in tests/golden/<name>.weft and compared byte for byte.

To write them anew after a change of the format or of a sample, run the tests once with
`WEFT_UPDATE_GOLDEN=1 python -m pytest tests/compiler/ir` and read the difference before
committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent.parent.parent / "golden"


def assert_golden(name: str, text: str) -> None:
    """The text must be that of the golden file."""
    path = FOLDER / f"{name}.weft"
    if os.environ.get("WEFT_UPDATE_GOLDEN") == "1":
        path.write_bytes(text.encode())
    assert path.exists(), f"{path.name} is missing; make it with WEFT_UPDATE_GOLDEN=1"
    assert text == path.read_bytes().decode(), (
        f"{path.name} differs; see tests/compiler/ir/golden.py"
    )

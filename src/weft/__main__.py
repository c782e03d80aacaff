"""The command line: `python -m weft demo`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from weft import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit code."""
    parser = argparse.ArgumentParser(prog="weft", description="A compiler for array programs.")
    parser.add_argument("--version", action="version", version=f"weft {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("demo", help="trace a small model on real data, show its graph and run it")
    parser.parse_args(arguments)

    from weft.demo import demo

    return demo()


if __name__ == "__main__":
    sys.exit(main())

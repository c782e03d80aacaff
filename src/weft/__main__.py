"""The command line: `python -m weft demo`, `python -m weft cache info|clear`."""

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
    cache = commands.add_parser("cache", help="the programs that are kept between processes")
    cache.add_argument("action", nargs="?", choices=("info", "clear"), default="info")
    chosen = parser.parse_args(arguments)
    if chosen.command == "cache":
        return _cache(chosen.action)

    from weft.demo import demo

    return demo()


def _cache(action: str) -> int:
    """Show or empty the cache on disk."""
    from weft.runtime.cache import open_cache

    cache = open_cache()
    info = cache.info()
    if info.directory is None:
        print("There is no cache: WEFT_CACHE_DIR is empty.")
        return 0
    held = f"{info.entries} {'entry' if info.entries == 1 else 'entries'}, {_size(info.bytes)}"
    if action == "clear":
        cache.clear()
        print(f"{info.directory}: removed {held}")
    else:
        print(f"{info.directory}: {held} of at most {_size(info.limit)}")
    return 0


def _size(count: int) -> str:
    amount, unit = float(count), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"


if __name__ == "__main__":
    sys.exit(main())

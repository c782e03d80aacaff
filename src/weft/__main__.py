"""The command line: `python -m weft demo`, `... cache info|clear`, `... tune`,
`... reproduce FILE`."""

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
    tune = commands.add_parser("tune", help="measure generated matrix products against BLAS")
    tune.add_argument("--seconds", type=float, default=30.0, help="how long about (default: 30)")
    again = commands.add_parser("reproduce", help="see again how a reported graph fails to compile")
    again.add_argument("file", help="a .weft file that a CompilerError or CompilerWarning names")
    chosen = parser.parse_args(arguments)
    if chosen.command == "cache":
        return _cache(chosen.action)
    if chosen.command == "tune":
        return _tune(chosen.seconds)
    if chosen.command == "reproduce":
        return _reproduce(chosen.file)

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
    tables = f"{info.tables} {'table' if info.tables == 1 else 'tables'} of `weft tune`"
    if action == "clear":
        cache.clear()
        print(f"{info.directory}: removed {held}{f', and {tables}' if info.tables else ''}")
    else:
        print(f"{info.directory}: {held} of at most {_size(info.limit)}")
        if info.tables:
            print(f"{info.directory}: {tables}")
    return 0


def _reproduce(file: str) -> int:
    """Compile the graph of a report, and show how that fails, with the compiler's own lines."""
    import traceback

    from weft.frontends.driver.failures import reproduce

    failure = reproduce(file)
    if failure is None:
        print(f"{file} does not fail here.")
        return 0
    traceback.print_exception(failure)
    return 1


def _tune(seconds: float) -> int:
    """Measure products of matrices, show the results and keep them."""
    from weft.frontends.api.jit import jit
    from weft.frontends.driver import tuning

    print(
        f"Measuring matrix products for about {seconds:.0f} seconds, or longer if this machine is "
        "slow or busy. Leave it alone meanwhile.\n",
        flush=True,
    )
    paths = []
    for table in tuning.tune(jit, seconds):
        print(tuning.shown(table), end="\n\n")
        paths.append(tuning.keep(table))
    if None in paths:
        print("There is nowhere to keep this: WEFT_CACHE_DIR is empty or cannot be written to.")
        return 1
    print("Kept, for programs that are compiled from now on:", *paths, sep="\n  ")
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

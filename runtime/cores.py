"""How many cores this process may use: its affinity, and the limits of its control groups.

A container that is given two of sixty-four cores is often not told so by the system's usual count.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_ROOT: Final = Path("/")


def available_cores(root: Path = _ROOT) -> int:
    """At least 1; `root` is where the file system of the machine is found."""
    try:
        cores = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # not on every system
        cores = os.cpu_count() or 1
    quotas = [quota for folder in _groups(root) if (quota := _quota(folder)) is not None]
    return max(1, min([cores, *[math.floor(quota) for quota in quotas]]))


def _groups(root: Path) -> Iterator[Path]:
    """The folders of this process's control groups and of all groups around them."""
    base = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        mounts = [base / controllers, base / "cpu"] if controllers else [base, base / "unified"]
        inner = Path(path.lstrip("/"))
        for mount in mounts:
            # In a container the path is the host's, while the files are those of the mount itself.
            yield from dict.fromkeys(mount / part for part in [inner, *inner.parents])


def _quota(folder: Path) -> float | None:
    """How many cores a group may use; None: as many as there are."""
    limit, _, period = _read(folder / "cpu.max").strip().partition(" ")  # version 2
    if not period:
        limit = _read(folder / "cpu.cfs_quota_us").strip()  # version 1
        period = _read(folder / "cpu.cfs_period_us").strip()
    try:
        quota, length = int(limit), int(period)
    except ValueError:  # "max", or no such file
        return None
    return quota / length if quota > 0 and length > 0 else None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""

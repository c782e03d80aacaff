"""Object code on disk, so that a second process does not compile again.

An entry is a file named by its key, written beside its place and then moved there, so that other
processes see all of it or nothing. It begins with a checksum of the key and of the rest: whatever
is damaged in any way is not found, and removed. The oldest entries go when all together are too
large. Where nothing can be written there is no cache, which `put` tells. As what is found here gets
executed, it must be this user's or the administrator's, and nobody else may be able to write to it:
the folder, its sub-folders and each file are looked at, and what is no plain file is not opened.

Beside the entries there are tables: small readable files of what was measured on this machine.
They have names, and stay until the cache is cleared. A folder has reports on what failed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from weft.compiler.record import record

DEFAULT_BYTES: Final = 512 << 20
MOST_REPORTS: Final = 32
_MAGIC: Final = b"weft-cache-1\n"
_DIGEST_BYTES: Final = 32
_SUFFIX: Final = ".entry"
_UNFINISHED: Final = ".unfinished"
_ABANDONED_SECONDS: Final = 3600.0  # after which an unfinished file has no writer any more
_REPORTS: Final = "failures"
_SWEPT: Final = "swept"  # a file whose time tells when a process last looked at all entries
_SWEEP_SECONDS: Final = 3600.0
_PART_LEFT: Final = 0.75  # how much of the limit eviction leaves, so that it is rare
_KEY: Final = re.compile(r"[0-9a-f]{8,128}")
_TABLE: Final = re.compile(r"[a-z]+-[0-9a-f]{8,128}\.json")
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@record
class Info:
    """What is in the cache, and what this process found there."""

    directory: Path | None
    entries: int
    bytes: int
    limit: int
    hits: int
    misses: int
    tables: int


class Cache:
    """Bytes by key; `directory` None is a cache in which nothing is ever found.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = Cache(Path(folder))
    ...     cache.put("00ff00ff", b"code"), cache.get("00ff00ff"), cache.get("12345678")
    ('', b'code', None)
    """

    def __init__(self, directory: Path | None, limit: int = DEFAULT_BYTES) -> None:
        self.directory = directory
        self.limit = limit
        self._hits = 0
        self._misses = 0
        self._written = 0  # bytes since the size of the whole was last looked at
        self._looked = False

    def get(self, key: str) -> bytes | None:
        """What was put under a hex key; None if it is not there in one piece."""
        path = self._path(key)
        found = None if path is None else _read(path, key)
        if found is None:
            self._misses += 1
            return None
        self._hits += 1
        with contextlib.suppress(OSError):
            os.utime(path)  # type: ignore[arg-type]  # used now, so it goes last
        return found

    def put(self, key: str, data: bytes) -> str:
        """Keep bytes under a hex key, if that is possible; why it was not, if so."""
        path = self._path(key)
        if path is None:
            return self._why_none()
        if len(data) > self.limit:
            return f"it is larger than the whole cache may be, {self.limit:,} bytes"
        try:
            _make_private(path.parent)
            _write(path, _digest(key, data) + data)
            self._written += len(data)
            self._evict_if_due()
        except OSError as error:
            return f"{error.strerror or error}: {error.filename or path}"
        return ""

    def _why_none(self) -> str:
        """Why there is no place for an entry."""
        if self.directory is None:
            return "there is no cache directory"
        return f"{self.directory} or a folder in it belongs to others, or others may write to it"

    def info(self) -> Info:
        """Numbers for users."""
        sizes = [size for _, size, _ in self._entries()]
        counts = self._hits, self._misses, len(self._tables())
        return Info(self.directory, len(sizes), sum(sizes), self.limit, *counts)

    def clear(self) -> None:
        """Remove all entries, tables and reports."""
        for path in [*[p for _, _, p in self._entries()], *self._tables(), *self._reports()]:
            _remove(path)
        if self.directory is not None:
            _remove(self.directory / _SWEPT)

    def table(self, name: str) -> bytes | None:
        """What a table holds; None if there is none of that name."""
        path = self._table_path(name)
        return None if path is None else _plain_content(path)

    def put_table(self, name: str, content: bytes) -> Path | None:
        """Keep a table under a name such as `products-00ff00ff.json`; where it is now, if that was
        possible.
        """
        path = self._table_path(name)
        if path is None:
            return None
        try:
            _make_private(path.parent)
            _write(path, content)
        except OSError:
            return None
        return path

    def put_report(self, name: str, content: bytes) -> Path | None:
        """Leave a text for people under a name of words, which it gets a digest behind; where it is
        now, if that was possible. The oldest of more than MOST_REPORTS go.
        """
        if self.directory is None or not _is_private(self.directory):
            return None
        folder = self.directory / _REPORTS
        path = folder / f"{name}-{hashlib.blake2b(content, digest_size=4).hexdigest()}.weft"
        try:
            _make_private(folder)
            _write(path, content)
        except OSError:
            return None
        for old in self._reports()[:-MOST_REPORTS]:
            _remove(old)
        return path

    def _reports(self) -> list[Path]:
        """The texts that were left, the oldest first."""
        if self.directory is None:
            return []
        found = []
        for path in (self.directory / _REPORTS).glob("*.weft"):
            with contextlib.suppress(OSError):  # another process may have removed it
                found.append((path.stat().st_mtime, path))
        return [path for _, path in sorted(found)]

    def _table_path(self, name: str) -> Path | None:
        if not _TABLE.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a table")
        if self.directory is None or not _is_private(self.directory):
            return None
        return self.directory / name

    def _tables(self) -> list[Path]:
        if self.directory is None:
            return []
        with contextlib.suppress(OSError):
            return [path for path in self.directory.iterdir() if _TABLE.fullmatch(path.name)]
        return []

    def _path(self, key: str) -> Path | None:
        if not _KEY.fullmatch(key):
            raise ValueError(f"{key!r} is no key: 8 to 128 lower-case hex digits")
        if self.directory is None or not _is_private(self.directory):
            return None
        folder = self.directory / key[:2]
        return folder / (key + _SUFFIX) if _is_private(folder) else None

    def _entries(self) -> list[tuple[float, int, Path]]:
        """Time of last use, size and path of each entry."""
        found = []
        for path in self._files():
            with contextlib.suppress(OSError):  # another process may have removed it
                status = path.stat()
                if path.suffix == _SUFFIX:
                    found.append((status.st_mtime, status.st_size, path))
                elif time.time() - status.st_mtime > _ABANDONED_SECONDS:
                    _remove(path)
        return found

    def _files(self) -> Iterator[Path]:
        if self.directory is None:
            return
        with contextlib.suppress(OSError):
            for folder in sorted(self.directory.iterdir()):
                if len(folder.name) == 2 and folder.is_dir():
                    for path in sorted(folder.iterdir()):
                        if path.suffix in (_SUFFIX, _UNFINISHED):
                            yield path

    def _evict_if_due(self) -> None:
        """Looking at all entries costs time, so it is done now and then: when this process has
        written much, and by one of the processes of an hour.
        """
        if self._written < self.limit // 16 and (self._looked or self._was_swept()):
            return
        self._looked, self._written = True, 0
        entries = sorted(self._entries())
        total = sum(size for _, size, _ in entries)
        if total <= self.limit:
            return
        for _, size, path in entries:
            _remove(path)
            total -= size
            if total <= self.limit * _PART_LEFT:
                return

    def _was_swept(self) -> bool:
        """Whether a process looked at all entries not long ago; if not, this one is about to."""
        assert self.directory is not None
        marker = self.directory / _SWEPT
        with contextlib.suppress(OSError):
            if time.time() - marker.stat().st_mtime < _SWEEP_SECONDS:
                return True
        with contextlib.suppress(OSError):
            marker.touch(mode=0o600)
        return False


def open_cache() -> Cache:
    """The cache of this user: WEFT_CACHE_DIR (empty: none) and WEFT_CACHE_SIZE, else where the
    system keeps such things.
    """
    return Cache(_default_directory(), _default_limit())


def _default_directory() -> Path | None:
    chosen = os.environ.get("WEFT_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) if chosen else None
    try:
        return _user_directory() / "weft"
    except RuntimeError:  # nobody knows where home is
        return None


def _user_directory() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    # The specification says that a relative path here is to be ignored.
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return given if given.is_absolute() else Path.home() / ".cache"


def _default_limit() -> int:
    text = os.environ.get("WEFT_CACHE_SIZE", "").strip()
    if not text:
        return DEFAULT_BYTES
    match = re.fullmatch(r"(\d+)\s*([KMGT]?)(i?B)?", text, re.IGNORECASE)
    if match is None:
        raise ValueError(f"WEFT_CACHE_SIZE is {text!r}; it must be a number of bytes, such as 512M")
    return int(match[1]) * _UNITS[match[2].upper()]


def _is_private(directory: Path) -> bool:
    """Whether it is a folder of this user or the administrator that nobody else may write to; or
    not there yet.
    """
    try:
        status = directory.stat()
    except OSError:
        return True
    return _is_trusted(status)


def _is_trusted(status: os.stat_result) -> bool:
    """Whether nobody but this user and the administrator can have written something."""
    if not hasattr(os, "getuid"):
        return True
    writable = stat.S_IWGRP | stat.S_IWOTH
    return status.st_uid in (os.getuid(), 0) and not status.st_mode & writable


def _make_private(folder: Path) -> None:
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


def _digest(key: str, data: bytes) -> bytes:
    """The head of an entry. It covers the key, so that a file under a wrong name is not found."""
    made = hashlib.blake2b(key.encode() + b"\n", digest_size=_DIGEST_BYTES)
    made.update(data)
    return _MAGIC + made.digest()


def _read(path: Path, key: str) -> bytes | None:
    content = _plain_content(path)
    if content is None:
        return None
    head, data = content[: len(_MAGIC) + _DIGEST_BYTES], content[len(_MAGIC) + _DIGEST_BYTES :]
    if head != _digest(key, data):
        _remove(path)
        return None
    return data


def _plain_content(path: Path) -> bytes | None:
    """What is in a plain file of this user or the administrator; None for all else. Links are not
    followed, and pipes not waited for.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not _is_trusted(status):
            return None
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read()
    except OSError:
        return None
    finally:
        os.close(handle)


def _write(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(_UNFINISHED, path.stem[:16], path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        _remove(Path(name))
        raise


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()

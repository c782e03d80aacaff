"""The cache on disk: damage, concurrent processes, eviction, folders that cannot be written."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE
from tests.runtime import support
from weft.runtime.cache import DEFAULT_BYTES, MOST_REPORTS, Cache, open_cache


def key(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def entries(folder: Path) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(path for path in files if path.name != "swept")


@pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 1000])
def test_what_was_put_is_found(tmp_path: Path, data: bytes) -> None:
    cache = Cache(tmp_path / "new" / "folder")
    assert cache.get(key(0)) is None
    cache.put(key(0), data)
    assert cache.get(key(0)) == data
    assert Cache(tmp_path / "new" / "folder").get(key(0)) == data
    assert cache.get(key(1)) is None
    info = cache.info()
    assert (info.entries, info.hits, info.misses) == (1, 1, 2)
    assert info.bytes == entries(tmp_path)[0].stat().st_size


def test_later_value_replaces_the_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(key(0), b"one")
    cache.put(key(0), b"two")
    assert cache.get(key(0)) == b"two"
    assert len(entries(tmp_path)) == 1


@pytest.mark.parametrize(
    "name", ["", "xyz", "../../etc/passwd", "ABCDEF12", "0" * 200, "00ff/00ff"]
)
def test_keys_are_hex_digits(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="is no key"):
        Cache(tmp_path).get(name)
    with pytest.raises(ValueError, match="is no key"):
        Cache(tmp_path).put(name, b"")


def test_truncated_entry_is_not_found_and_removed(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    data = bytes(range(200))
    for length in range(0, 244):
        cache.put(key(0), data)
        (path,) = entries(tmp_path)
        content = path.read_bytes()
        assert len(content) > length
        path.write_bytes(content[:length])
        assert cache.get(key(0)) is None
        assert entries(tmp_path) == []


def test_longer_entry_is_not_found(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(key(0), b"data")
    (path,) = entries(tmp_path)
    path.write_bytes(path.read_bytes() + b"\0")
    assert cache.get(key(0)) is None


def test_any_flipped_bit_is_noticed(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(key(0), bytes(range(50)))
    (path,) = entries(tmp_path)
    content = path.read_bytes()
    for bit in random.Random(0).sample(range(len(content) * 8), 300):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        assert cache.get(key(0)) is None
        assert not path.exists()
    path.write_bytes(content)
    assert cache.get(key(0)) == bytes(range(50))


def test_entry_under_another_name_is_not_found(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(key(0), b"of zero")
    (path,) = entries(tmp_path)
    other = tmp_path / key(1)[:2] / (key(1) + path.suffix)
    other.parent.mkdir(exist_ok=True)
    other.write_bytes(path.read_bytes())
    assert cache.get(key(1)) is None
    assert cache.get(key(0)) == b"of zero"


def test_oldest_entries_go_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 20_000)
    for number in range(15):
        cache.put(key(number), bytes(1000))
        (path,) = [path for path in entries(tmp_path) if path.stem == key(number)]
        os.utime(path, (number, number))
    assert cache.get(key(0)) is not None  # used now
    for number in range(15, 25):
        cache.put(key(number), bytes(1000))
    left = {number for number in range(25) if cache.get(key(number)) is not None}
    assert {0, 24} <= left
    assert 1 not in left
    assert cache.info().bytes <= 20_000 + 20_000 // 16 + 2000


def test_one_process_of_an_hour_looks_at_all_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Cache] = []
    look = Cache._entries

    def counted(cache: Cache) -> Any:
        looks.append(cache)
        return look(cache)

    monkeypatch.setattr(Cache, "_entries", counted)
    first, second, third = Cache(tmp_path), Cache(tmp_path), Cache(tmp_path, 1600)
    for number, cache in enumerate((first, second, first, third)):
        cache.put(key(number), bytes(100))  # a sixteenth of the third one's limit
    assert looks == [first, third]
    os.utime(tmp_path / "swept", (0, 0))
    second.put(key(9), b"data")
    assert looks == [first, third, second]


def test_entry_larger_than_the_cache_is_not_kept(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 100)
    cache.put(key(0), bytes(101))
    assert entries(tmp_path) == []


def test_clear_removes_entries_and_nothing_else(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for number in range(5):
        cache.put(key(number), b"data")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "longer").mkdir()
    (tmp_path / "longer" / "x.entry").write_text("mine")
    cache.clear()
    assert cache.info().entries == 0
    assert [path.name for path in entries(tmp_path)] == ["x.entry", "notes.txt"]


def test_abandoned_files_are_removed(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(key(0), b"data")
    folder = entries(tmp_path)[0].parent
    old, young = folder / "old.unfinished", folder / "young.unfinished"
    old.write_bytes(b"half")
    young.write_bytes(b"half")
    os.utime(old, (0, 0))
    assert cache.info().entries == 1
    assert not old.exists()
    assert young.exists()


def test_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    cache.put(key(0), b"data")
    assert entries(tmp_path) == []
    assert cache.get(key(0)) is None


def test_no_folder_is_no_cache() -> None:
    cache = Cache(None)
    cache.put(key(0), b"data")
    assert cache.get(key(0)) is None
    assert cache.info().entries == 0
    cache.clear()


def test_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    for place in (blocked, blocked / "below", Path("/proc/weft"), Path("/dev/null/weft")):
        cache = Cache(place)
        cache.put(key(0), b"data")
        assert cache.get(key(0)) is None
        assert cache.info().entries == 0

    def refuse(*arguments: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    cache = Cache(tmp_path)
    cache.put(key(0), b"data")
    assert cache.get(key(0)) is None


def test_read_only_entries_are_still_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Cache(tmp_path).put(key(0), b"data")

    def refuse(*arguments: object, **options: object) -> None:
        raise PermissionError(30, "Read-only file system")

    for name in ("utime", "replace"):
        monkeypatch.setattr(os, name, refuse)
    cache = Cache(tmp_path)
    assert cache.get(key(0)) == b"data"
    cache.put(key(1), b"more")
    assert cache.get(key(1)) is None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="modes of files are POSIX's")
def test_folder_that_everybody_can_write_to_is_no_cache(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    cache = Cache(folder)
    cache.put(key(0), b"code")
    assert folder.stat().st_mode & 0o077 == 0
    inner = entries(folder)[0].parent
    for place in (folder, inner):
        before = place.stat().st_mode
        for mode in (0o777, 0o1777, 0o702, 0o775, 0o720):
            place.chmod(mode)
            assert cache.get(key(0)) is None
            assert "others may write" in cache.put(key(0), b"other")
        place.chmod(before)
    assert cache.get(key(0)) == b"code"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="modes of files are POSIX's")
def test_entries_that_others_can_write_are_not_found(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put(key(0), b"code")
    (path,) = entries(tmp_path)
    for mode in (0o666, 0o620):
        path.chmod(mode)
        assert cache.get(key(0)) is None
    path.chmod(0o644)
    assert cache.get(key(0)) == b"code"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes and links are POSIX's")
def test_what_is_no_plain_file_is_not_opened(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put(key(0), b"code")
    (path,) = entries(tmp_path)
    elsewhere = path.rename(tmp_path / "elsewhere")
    path.symlink_to(elsewhere)
    assert cache.get(key(0)) is None
    path.unlink()
    os.mkfifo(path)
    assert cache.get(key(0)) is None  # and nobody waits for a writer
    path.unlink()
    path.mkdir()
    assert cache.get(key(0)) is None
    assert "directory" in cache.put(key(0), b"code")


def test_put_tells_why_nothing_was_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Cache(tmp_path).put(key(0), b"code") == ""
    assert "no cache directory" in Cache(None).put(key(0), b"code")
    assert "larger than the whole cache" in Cache(tmp_path, 0).put(key(0), b"code")
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert str(blocked) in Cache(blocked).put(key(0), b"code")

    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    assert "No space left" in Cache(tmp_path).put(key(0), b"code")


def test_place_and_size_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WEFT_CACHE_DIR", "WEFT_CACHE_SIZE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_cache().directory == tmp_path / ".cache" / "weft"
    assert open_cache().limit == DEFAULT_BYTES
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert open_cache().directory == tmp_path / ".cache" / "weft"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert open_cache().directory == tmp_path / "xdg" / "weft"
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "own"))
    assert open_cache().directory == tmp_path / "own"
    monkeypatch.setenv("WEFT_CACHE_DIR", "")
    assert open_cache().directory is None
    for text, bytes in (("1000", 1000), ("16M", 16 << 20), ("2 GiB", 2 << 30), ("4kb", 4096)):
        monkeypatch.setenv("WEFT_CACHE_SIZE", text)
        assert open_cache().limit == bytes
    monkeypatch.setenv("WEFT_CACHE_SIZE", "much")
    with pytest.raises(ValueError, match="WEFT_CACHE_SIZE"):
        open_cache()


def test_no_home_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("WEFT_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", unknown)
    assert open_cache().directory is None


WRITER = """
import hashlib, random, sys
from pathlib import Path
from weft.runtime.cache import Cache
cache, rng = Cache(Path(sys.argv[1]), 400_000), random.Random(int(sys.argv[2]))
for _ in range(600):
    number = rng.randrange(20)
    key = hashlib.sha256(str(number).encode()).hexdigest()
    found = cache.get(key)
    assert found is None or (len(set(found)) == 1 and len(found) >= 1000), key
    cache.put(key, bytes([rng.randrange(256)]) * rng.randrange(1000, 50_000))
"""


def test_processes_that_write_the_same_keys(tmp_path: Path) -> None:
    """Every value that is found is one that a process wrote whole."""
    environment = {**os.environ, "PYTHONPATH": f"{support.ROOT / 'src'}:{support.ROOT}"}
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(i)], env=environment)
        for i in range(3)
    ]
    assert [writer.wait(PATIENCE) for writer in writers] == [0, 0, 0]
    assert not [path for path in entries(tmp_path) if path.suffix != ".entry"]
    assert Cache(tmp_path).info().bytes <= 400_000 + 3 * (400_000 // 16 + 50_000)


def test_reports_are_bounded_in_number_and_cleared(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    paths = []
    for number in range(MOST_REPORTS + 5):
        path = cache.put_report("loss-simplify", f"report {number}".encode())
        assert path is not None
        os.utime(path, (number, number))
        paths.append(path)
    assert [path.exists() for path in paths] == [False] * 5 + [True] * MOST_REPORTS
    assert paths[-1].read_bytes() == b"report %d" % (MOST_REPORTS + 4)
    assert cache.put_report("loss-simplify", b"report 30") == paths[30]
    cache.put(key(1), b"code")
    assert cache.info().entries == 1
    cache.clear()
    assert not any(path.exists() for path in paths)


def test_reports_need_a_folder_of_ones_own(tmp_path: Path) -> None:
    assert Cache(None).put_report("loss", b"") is None
    open_to_all = tmp_path / "open"
    open_to_all.mkdir(mode=0o777)
    open_to_all.chmod(0o777)
    assert Cache(open_to_all).put_report("loss", b"") is None
    (tmp_path / "file").write_text("")
    assert Cache(tmp_path / "file" / "cache").put_report("loss", b"") is None

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from lab import jars
from lab.errors import LabError


class _Server(ThreadingHTTPServer):
    """Hangs up on so many requests first, and knows what it was asked for."""

    hang_ups = 0

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))


class _Quiet(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, _Server)
        if self.server.hang_ups:
            self.server.hang_ups -= 1
            self.close_connection = True
            return
        self.server.asked.append(self.path.rpartition("/")[2])
        super().do_GET()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Mirror:
    """A Maven repository of two small jars on the loopback, and the lock that names them."""

    def __init__(self, folder: Path, server: _Server) -> None:
        self.folder, self.server = folder, server
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        self.slept: list[float] = []
        self.lock = folder / "two.lock"
        self.contents = {"first": b"one jar", "second": b"another jar"}
        lines = ["# sha256  what"]
        for name, content in self.contents.items():
            self.publish(name, content)
            lines.append(f"{hashlib.sha256(content).hexdigest()}  org.example:{name}:1.0")
        self.lock.write_text("\n".join(lines) + "\n")

    def publish(self, name: str, content: bytes) -> None:
        path = self.folder / "org" / "example" / name / "1.0" / f"{name}-1.0.jar"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def obtain(self, cache: Path, seen: list[tuple[int, int]] | None = None) -> Path:
        steps = [] if seen is None else seen
        return jars.obtain(
            self.lock,
            cache=cache,
            environ={jars.MIRROR: self.url},
            progress=lambda done, of: steps.append((done, of)),
            sleep=self.slept.append,
        )


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    folder = tmp_path / "mirror"
    folder.mkdir()
    server = _Server(folder)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Mirror(folder, server)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_locked_jars_come_from_the_mirror_and_stay(mirror: Mirror, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    folder = mirror.obtain(tmp_path / "cache", seen)
    assert _names(folder) == ["first-1.0.jar", "second-1.0.jar"]
    assert seen == [(1, 2), (2, 2)]

    mirror.publish("first", b"changed since")
    seen.clear()
    assert mirror.obtain(tmp_path / "cache", seen) == folder
    assert seen == []


def test_a_jar_with_a_wrong_checksum_is_refused_and_not_kept(mirror: Mirror, tmp_path: Path) -> None:
    mirror.publish("second", b"something else")
    with pytest.raises(LabError, match=r"org\.example:second:1\.0 from .* has sha256 .* and the lock says"):
        mirror.obtain(tmp_path / "cache")
    assert "second-1.0.jar" not in _names(tmp_path / "cache" / "jars" / "two")
    assert _names(tmp_path / "cache" / "jars") == ["two"]


def test_a_damaged_jar_in_the_cache_is_fetched_again(mirror: Mirror, tmp_path: Path) -> None:
    folder = mirror.obtain(tmp_path / "cache")
    (folder / "first-1.0.jar").write_bytes(b"half")
    mirror.obtain(tmp_path / "cache")
    assert (folder / "first-1.0.jar").read_bytes() == mirror.contents["first"]


def test_a_jar_that_is_not_locked_does_not_stay_on_the_class_path(mirror: Mirror, tmp_path: Path) -> None:
    folder = mirror.obtain(tmp_path / "cache")
    (folder / "stranger-9.jar").write_bytes(b"?")
    mirror.obtain(tmp_path / "cache")
    assert _names(folder) == ["first-1.0.jar", "second-1.0.jar"]


def test_a_server_that_hangs_up_a_few_times_is_asked_again(mirror: Mirror, tmp_path: Path) -> None:
    mirror.server.hang_ups = jars.ATTEMPTS - 1
    folder = mirror.obtain(tmp_path / "cache")
    assert _names(folder) == ["first-1.0.jar", "second-1.0.jar"]
    assert len(mirror.slept) == jars.ATTEMPTS - 1


def test_of_two_commands_at_once_one_fetches(mirror: Mirror, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(mirror.obtain, tmp_path / "cache") for _ in range(2)]
        folders = {each.result() for each in both}
    assert [_names(folder) for folder in folders] == [["first-1.0.jar", "second-1.0.jar"]]
    assert sorted(name for name in mirror.server.asked if name.endswith(".jar")) == ["first-1.0.jar", "second-1.0.jar"]


def test_a_whole_cache_is_used_where_nothing_can_be_written(mirror: Mirror, tmp_path: Path) -> None:
    mirror.obtain(tmp_path / "cache")
    (tmp_path / "cache" / "jars.lock").unlink()
    mirror.obtain(tmp_path / "cache")
    assert not (tmp_path / "cache" / "jars.lock").exists()


def test_without_network_one_sentence_says_what_to_do_and_nothing_half_is_kept(mirror: Mirror, tmp_path: Path) -> None:
    mirror.url = "http://127.0.0.1:9"
    with pytest.raises(LabError, match=r"could not be fetched from http://127\.0\.0\.1:9 .*KAFKA_DR_MAVEN_MIRROR"):
        mirror.obtain(tmp_path / "cache")
    assert len(mirror.slept) < 2 * jars.ATTEMPTS
    assert _names(tmp_path / "cache" / "jars" / "two") == []
    assert _names(tmp_path / "cache" / "jars") == ["two"]


def test_the_locks_name_every_jar_once_with_a_whole_checksum() -> None:
    for lock, count in ((jars.KAFKA, 94), (jars.SPARK_KAFKA, 4)):
        locked = jars.read_lock(lock)
        assert len(locked) == len({jar.file_name for jar in locked}) == count
        assert all(len(jar.sha256) == 64 for jar in locked)

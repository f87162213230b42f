from __future__ import annotations

import dataclasses
import fcntl
import json
import multiprocessing
import stat
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.routing import FileRouter, Route, RouteBusy, RouteConflict, RouteUnreadable, RouteUnwritable
from support.manual_clock import ManualClock

EAST = Route("orders", "east", "east:9092", 1, datetime(2026, 11, 20, 3, tzinfo=UTC))
WEST = Route("orders", "west", "west:9092", 2, datetime(2026, 11, 20, 4, tzinfo=UTC))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "orders.json"


@pytest.fixture
def router(path: Path) -> FileRouter:
    return FileRouter(path, SystemClock())


@pytest.fixture
def stored(router: FileRouter) -> FileRouter:
    router.switch(expected_epoch=None, route=EAST)
    return router


@pytest.fixture
def locked(path: Path) -> Iterator[Path]:
    """Hold the route's lock in another process until the test ends."""
    context = multiprocessing.get_context("fork")
    held, done = context.Event(), context.Event()

    def hold() -> None:
        with Path(f"{path}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            held.set()
            done.wait(30)

    process = context.Process(target=hold)
    process.start()
    assert held.wait(60)
    yield path
    done.set()
    process.join(10)


def test_the_file_is_json_that_everybody_may_read(stored: FileRouter, path: Path) -> None:
    assert json.loads(path.read_text()) == {
        "schema_version": 1,
        "group": "orders",
        "active": "east",
        "bootstrap_servers": "east:9092",
        "epoch": 1,
        "at": "2026-11-20T03:00:00.000000Z",
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_nothing_else_is_left_next_to_the_file_but_its_lock(stored: FileRouter, path: Path) -> None:
    stored.switch(expected_epoch=1, route=WEST)

    assert sorted(each.name for each in path.parent.iterdir()) == ["orders.json", "orders.json.lock"]


def test_nothing_is_left_in_the_folder_of_a_removed_route(stored: FileRouter, path: Path) -> None:
    assert stored.remains() == (str(path), f"{path}.lock")
    stored.remove()
    assert list(path.parent.iterdir()) == []


def test_a_route_that_cannot_be_removed_is_a_sentence_and_still_there(router: FileRouter, path: Path) -> None:
    path.mkdir()
    with pytest.raises(RouteUnwritable, match=f"{path} cannot be removed"):
        router.remove()
    assert router.remains() == (str(path),)


GOOD = json.dumps(EAST.to_json())


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "it is not JSON"),
        (GOOD[:-1], "it is not JSON"),
        ("[]", "its schema is None"),
        ("{}", "its schema is None"),
        (GOOD.replace('"schema_version": 1', '"schema_version": 2'), "its schema is 2, this program knows 1"),
        (GOOD.replace('"epoch": 1', '"epoch": true'), "epoch is True, and a whole number was expected"),
        (GOOD.replace('"epoch": 1', '"epoch": 0'), "epochs of the register begin at 1"),
        (GOOD.replace('"east"', '""'), "lacks a name or an address"),
        (GOOD.replace('"east"', "null"), "active is None, and a text was expected"),
        (GOOD.replace(".000000Z", ""), "a time with a time zone was expected"),
        (GOOD.replace("2026-11-20T03:00:00.000000Z", "yesterday"), "'yesterday', and a time was expected"),
    ],
)
def test_a_garbled_route_is_never_taken_for_none_and_never_replaced(
    router: FileRouter, path: Path, content: str, why: str
) -> None:
    path.write_text(content)

    with pytest.raises(RouteUnreadable, match=why):
        router.read()
    with pytest.raises(RouteUnreadable):
        router.switch(expected_epoch=None, route=WEST)

    assert path.read_text() == content


def test_a_route_that_is_not_text_or_not_a_file_is_unreadable(router: FileRouter, path: Path) -> None:
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(RouteUnreadable, match="cannot be understood"):
        router.read()

    path.unlink()
    path.mkdir()
    with pytest.raises(RouteUnreadable, match="cannot be understood"):
        router.read()


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(RouteUnwritable, match="was left as it is: expected a folder that this process may write"):
        FileRouter(tmp_path / "file" / "orders.json").switch(expected_epoch=None, route=EAST)


def test_a_rename_that_fails_leaves_no_file(tmp_path: Path) -> None:
    """The path is a folder by the time of the rename, which the kernel refuses."""
    router = FileRouter(tmp_path / "orders.json")
    router.path.mkdir()

    with pytest.raises(RouteUnwritable, match="was left as it is"):
        router._replace(EAST)

    assert [each.name for each in tmp_path.iterdir()] == ["orders.json"]


def test_waiting_for_another_switch_ends_at_the_deadline(locked: Path) -> None:
    clock = ManualClock()
    router = FileRouter(locked, clock, lock_seconds=3)

    with pytest.raises(RouteBusy, match="was locked by another switch for 3 s"):
        router.switch(expected_epoch=None, route=EAST)

    assert 3 <= clock.monotonic() < 3.1
    assert router.read() is None


def test_reading_does_not_wait_for_a_switch(stored: FileRouter, locked: Path) -> None:
    assert FileRouter(locked, ManualClock()).read() == EAST


def test_the_lock_of_a_killed_switch_is_free(path: Path) -> None:
    context = multiprocessing.get_context("fork")
    held = context.Event()

    def hold() -> None:
        with Path(f"{path}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            held.set()
            threading.Event().wait(30)

    process = context.Process(target=hold)
    process.start()
    assert held.wait(60)
    process.kill()
    process.join(10)

    FileRouter(path, ManualClock(), lock_seconds=0).switch(expected_epoch=None, route=EAST)


def _race(path: Path, name: str, *, start: object, won: object) -> None:
    start.wait(60)  # type: ignore[attr-defined]
    try:
        switch = dataclasses.replace(WEST, active=name, epoch=2)
        FileRouter(path, SystemClock()).switch(expected_epoch=1, route=switch)
    except RouteConflict:
        return
    won.put(name)  # type: ignore[attr-defined]


def test_of_many_processes_that_switch_at_once_exactly_one_wins(stored: FileRouter, path: Path) -> None:
    context = multiprocessing.get_context("fork")
    start, won = context.Event(), context.Queue()
    names = [f"c{number}" for number in range(8)]
    racers = [context.Process(target=_race, args=(path, name), kwargs={"start": start, "won": won}) for name in names]
    for racer in racers:
        racer.start()
    start.set()
    winner = won.get(timeout=20)
    for racer in racers:
        racer.join(20)

    assert won.empty()
    assert [racer.exitcode for racer in racers] == [0] * 8
    route = stored.read()
    assert route is not None
    assert route.active == winner


def test_readers_see_the_old_or_the_new_route_and_never_half_of_one(stored: FileRouter, path: Path) -> None:
    done = threading.Event()
    seen: set[int] = set()

    def look() -> None:
        while not done.is_set():
            route = FileRouter(path, SystemClock()).read()
            assert route is not None
            seen.add(route.epoch)

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for epoch in range(2, 200):
            stored.switch(expected_epoch=epoch - 1, route=dataclasses.replace(EAST, epoch=epoch))
    finally:
        done.set()
        reader.join(10)

    assert seen <= set(range(1, 200))
    assert len(seen) > 1


def test_a_route_refuses_a_time_without_zone_and_an_epoch_below_one() -> None:
    with pytest.raises(ValueError, match="pass an aware time"):
        dataclasses.replace(EAST, at=datetime(2026, 11, 20))  # noqa: DTZ001
    with pytest.raises(ValueError, match="begin at 1"):
        dataclasses.replace(EAST, epoch=0)

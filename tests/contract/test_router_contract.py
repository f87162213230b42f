"""The contract of every router: the one in memory and the real ones."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kafka_dr.routing import CommandRouter, FileRouter, Route, RouteConflict, Router
from support.memory_router import MemoryRouter
from support.remote_route import RemoteRoute

PROGRAM = Path(__file__).parents[1] / "support" / "route_program.py"
EAST = Route("orders", "east", "east:9092", 1, datetime(2026, 11, 20, 3, tzinfo=UTC))
WEST = Route("orders", "west", "west:9092", 2, datetime(2026, 11, 20, 4, tzinfo=UTC))


@pytest.fixture(params=["memory", "file", "command", "etcd", "dns"])
def router(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Router:
    match request.param:
        case "memory":
            return MemoryRouter()
        case "file":
            return FileRouter(tmp_path / "the route" / "orders.json")
        case "command":
            return CommandRouter((sys.executable, str(PROGRAM), str(tmp_path / "routes.json")), "orders", seconds=30)
    remote: RemoteRoute = request.getfixturevalue(f"route_in_{request.param}")
    for name, value in remote.environ.items():
        monkeypatch.setenv(name, value)
    reached: Router = remote.reached_at()
    return reached


def test_a_route_that_was_never_set_is_none(router: Router) -> None:
    assert router.read() is None


def test_the_first_route_is_stored_if_none_is_expected(router: Router) -> None:
    router.switch(expected_epoch=None, route=EAST)

    assert router.read() == EAST


def test_a_route_is_switched_when_the_expected_epoch_is_stored(router: Router) -> None:
    router.switch(expected_epoch=None, route=EAST)

    router.switch(expected_epoch=1, route=WEST)

    assert router.read() == WEST


def test_a_trial_changes_nothing(router: Router) -> None:
    router.try_out()
    assert (router.read(), router.remains()) == (None, ())
    router.switch(expected_epoch=None, route=EAST)

    router.try_out()

    assert router.read() == EAST


@pytest.mark.parametrize("expected", [None, 1, 2, 7])
def test_storing_the_stored_route_again_succeeds_whatever_was_expected(router: Router, expected: int | None) -> None:
    router.switch(expected_epoch=None, route=EAST)
    router.switch(expected_epoch=1, route=WEST)

    router.switch(expected_epoch=expected, route=dataclasses.replace(WEST, at=WEST.at + timedelta(minutes=1)))

    assert router.read() == WEST


def test_a_run_with_an_outdated_epoch_is_refused_and_changes_nothing(router: Router) -> None:
    router.switch(expected_epoch=None, route=EAST)
    router.switch(expected_epoch=1, route=WEST)

    with pytest.raises(
        RouteConflict, match="is at epoch 2 and leads to west, expected epoch 1: another run switched it"
    ):
        router.switch(expected_epoch=1, route=dataclasses.replace(EAST, epoch=3))

    assert router.read() == WEST


def test_a_first_route_is_refused_if_there_is_one(router: Router) -> None:
    router.switch(expected_epoch=None, route=EAST)

    with pytest.raises(RouteConflict, match="is at epoch 1 and leads to east, expected no route"):
        router.switch(expected_epoch=None, route=WEST)

    assert router.read() == EAST


def test_a_switch_is_refused_if_there_is_no_route(router: Router) -> None:
    with pytest.raises(RouteConflict, match="is not set, expected epoch 1"):
        router.switch(expected_epoch=1, route=WEST)

    assert router.read() is None


@pytest.mark.parametrize("epoch", [1, 2])
def test_an_epoch_never_decreases_and_never_has_two_meanings(router: Router, epoch: int) -> None:
    router.switch(expected_epoch=None, route=dataclasses.replace(WEST, epoch=2))

    with pytest.raises(RouteConflict, match=f"is at epoch 2 and cannot go to epoch {epoch}"):
        router.switch(expected_epoch=2, route=dataclasses.replace(EAST, epoch=epoch))

    assert router.read() == WEST


def test_the_route_of_another_group_is_not_replaced(router: Router) -> None:
    router.switch(expected_epoch=None, route=EAST)

    with pytest.raises(RouteConflict, match="belongs to group orders and was asked to lead carts"):
        router.switch(expected_epoch=1, route=dataclasses.replace(WEST, group="carts"))


def test_of_many_switches_at_once_exactly_one_wins(router: Router) -> None:
    router.switch(expected_epoch=None, route=EAST)

    def attempt(number: int) -> bool:
        try:
            router.switch(expected_epoch=1, route=dataclasses.replace(WEST, active=f"c{number}", epoch=2))
        except RouteConflict:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        won = [number for number, outcome in enumerate(pool.map(attempt, range(16))) if outcome]

    assert len(won) == 1
    stored = router.read()
    assert stored is not None
    assert stored.active == f"c{won[0]}"


def test_commands_by_hand_store_the_route_and_there_are_none_where_they_cannot(router: Router) -> None:
    router.switch(expected_epoch=None, route=EAST)
    commands = router.by_hand(WEST)
    for command in commands:
        subprocess.run(["/bin/sh", "-ec", command], check=True)

    assert router.read() == (WEST if commands else EAST)
    router.switch(expected_epoch=2 if commands else 1, route=dataclasses.replace(EAST, epoch=3))


def test_nothing_remains_of_a_removed_route_and_removing_it_again_succeeds(router: Router) -> None:
    assert router.remains() == ()
    router.switch(expected_epoch=None, route=EAST)
    assert router.remains()

    for _ in range(2):
        router.remove()
        assert router.read() is None
        assert router.remains() == ()
    router.switch(expected_epoch=None, route=WEST)
    assert router.read() == WEST

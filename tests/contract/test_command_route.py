"""What a declared program may do wrong when it reads and switches a route."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafka_dr.errors import Refused
from kafka_dr.routing import CommandRouter, Route, RouteUncertain, RouteUnreadable, RouteUnwritable

EAST = Route("orders", "east", "east:9092", 1, datetime(2026, 11, 20, 3, tzinfo=UTC))
WEST = Route("orders", "west", "west:9092", 2, datetime(2026, 11, 20, 4, tzinfo=UTC))
PROGRAM = Path(__file__).parents[1] / "support" / "route_program.py"


def router_of_program(folder: Path, *behaves: str, seconds: float = 20) -> CommandRouter:
    return CommandRouter(
        (sys.executable, str(PROGRAM), str(folder / "routes.json"), *behaves), "orders", seconds=seconds
    )


@pytest.mark.parametrize(("behaves", "seconds"), [("fails", 20), ("hangs", 2)])
def test_a_program_that_does_what_it_is_asked_for_and_ends_badly_has_switched(
    tmp_path: Path, behaves: str, seconds: float
) -> None:
    router_of_program(tmp_path, behaves, seconds=seconds).switch(expected_epoch=None, route=EAST)

    assert router_of_program(tmp_path).read() == EAST


def test_what_the_program_reads_has_to_be_a_route(tmp_path: Path) -> None:
    router = router_of_program(tmp_path, "nonsense")

    with pytest.raises(RouteUnreadable, match="is no route: expected the JSON of include/guide/routes"):
        router.switch(expected_epoch=None, route=EAST)


def test_a_program_that_fails_is_shown_with_what_it_says(tmp_path: Path) -> None:
    with pytest.raises(RouteUnwritable, match="ended try_out with code 1: the gateway has gone"):
        router_of_program(tmp_path, "fails").try_out()


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    router = CommandRouter((str(tmp_path / "nothing"),), "orders")

    with pytest.raises(Refused, match="nothing cannot be started"):
        router.read()
    with pytest.raises(RouteUnwritable, match="nothing cannot be started"):
        router.try_out()


def test_a_switch_that_was_read_before_another_changes_nothing(tmp_path: Path) -> None:
    router = router_of_program(tmp_path)
    _, never = router.look()
    router.switch(expected_epoch=None, route=EAST)

    router.put(never, WEST)

    assert router.read() == EAST


def test_a_program_that_stores_nothing_and_fails_leaves_it_uncertain(tmp_path: Path) -> None:
    kept = tmp_path / "routes.json"
    kept.write_text("{}")
    script = f'case "$(cat)" in *read*) echo \'{{"route": null}}\';; *) exit 3;; esac # {kept}'
    router = CommandRouter(("/bin/sh", "-c", script), "orders", seconds=0.5)

    with pytest.raises(RouteUncertain, match="may lead to east or not"):
        router.switch(expected_epoch=None, route=EAST)


def test_the_shown_command_reads_the_route(tmp_path: Path) -> None:
    router = router_of_program(tmp_path)
    router.switch(expected_epoch=None, route=EAST)
    (command,) = router.shown_by()

    done = subprocess.run(["/bin/sh", "-ec", command], capture_output=True, text=True, check=True)

    assert '"active": "east"' in done.stdout

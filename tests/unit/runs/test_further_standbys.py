"""A standby that a run does not concern is asked like the others, and not waited for when it hangs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.register import transitions
from kafka_dr.runs.request import RunRequest
from kafka_dr.runs.run import Run
from support.fake_registers import FakeRegisters
from support.register_states import AT


@pytest.fixture
def over() -> Iterator[Event]:
    ended = Event()
    yield ended
    ended.set()


def run_on(*clusters: str) -> Run:
    group = SimpleNamespace(name="orders", clusters=clusters, topic_patterns=(), copies_named="")
    clients = FakeRegisters().clients(topology=SimpleNamespace(group=lambda _: group))
    return Run(RunRequest("orders", "run-1", source="east", target="west"), clients)


def test_a_further_standby_that_hangs_has_its_time_once_and_a_moment_after_that(over: Event) -> None:
    run, began = run_on("east", "north", "west"), time.monotonic()

    def ask(cluster: str) -> str:
        if cluster == "north":
            over.wait(60)
        return cluster

    took = []
    for seconds in (0.0, 2.0, 2.0, 2.0):
        found = run.each_cluster(ask, further_seconds=seconds)
        assert isinstance(found.pop("north"), KafkaDrError)
        assert found == {"east": "east", "west": "west"}
        took.append(time.monotonic() - began)
    assert took[0] < 1.0
    assert took[1] > 1.5
    assert took[3] - took[1] < 1.5


def test_what_it_answers_counts_and_its_error_hides_nothing() -> None:
    run = run_on("east", "north", "west")
    assert run.each_cluster(str.upper) == {"east": "EAST", "north": "NORTH", "west": "WEST"}
    error = TryAgain("no answer")

    def fails(cluster: str) -> str:
        if cluster == "north":
            raise error
        return cluster

    assert run.each_cluster(fails) == {"east": "east", "north": error, "west": "west"}


def test_the_clusters_that_a_run_concerns_are_waited_for() -> None:
    def slow(cluster: str) -> str:
        time.sleep(0.3 if cluster == "west" else 0)
        return cluster

    assert run_on("east", "north", "west").each_cluster(slow, further_seconds=0)["west"] == "west"
    assert run_on("east", "west").each_cluster(slow, further_seconds=0) == {"east": "east", "west": "west"}


def test_a_run_that_has_released_all_standbys_still_knows_them() -> None:
    signed: dict[str, Any] = {"run": "run-1", "evidence_sha256": "", "approved_by": "alice", "at": AT}
    adopted = transitions.adopted("orders", active="east", standbys=["west", "north"], run="adoption", at=AT)
    held = transitions.releasing(adopted, standby="north", **signed)
    for state in (held, transitions.released(held, run="run-1", at=AT)):
        run = run_on("east", "north", "west")
        run.request = RunRequest("orders", "run-1", verb="un_adopt")
        run.register_state = state
        assert (run.source, run.target, run.further_standbys) == ("east", "north", ("west",))

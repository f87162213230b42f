"""An attempt ends in a record, whatever ended it; nobody hears of it before it is in the evidence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_dr.clock import ManualClock
from kafka_dr.errors import KafkaDrError, NeedsPerson, OutcomeUnknown, Refused, TryAgain
from kafka_dr.failover import RunRequest, StepFailed, World
from kafka_dr.failover.attempt import Attempt
from kafka_dr.failover.record import StepOutcome
from kafka_dr.topology import load

TOPOLOGY = Path(__file__).parents[3] / "include" / "topology.yaml"
LAB = {"KAFKA_DR_LAB_HOME": "/lab", "KAFKA_DR_LAB_EAST": "127.0.0.1:1", "KAFKA_DR_LAB_WEST": "127.0.0.1:2"}
REQUEST = RunRequest("orders", "manual__1")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A world in which nothing is reached but the evidence."""

    def nothing(connection: str) -> None:
        raise AssertionError(f"an attempt asks for {connection}")

    found = World(
        load(TOPOLOGY, LAB),
        settings_of=nothing,  # type: ignore[arg-type]
        connect_of=nothing,  # type: ignore[arg-type]
        evidence_root=tmp_path,
        clock=ManualClock(),
    )
    yield found
    found.close()


def ended_by(error: Exception, world: World, *, refusal: StepOutcome = "failed") -> StepFailed:
    def work() -> tuple[StepOutcome, str]:
        raise error

    with pytest.raises(StepFailed) as failed:
        Attempt.start(REQUEST, world, "drain", 5).carry_out(world, work, refusal=refusal)
    return failed.value


def kept(world: World) -> tuple[str, str]:
    found = world.evidence.newest("orders", "manual__1", "drain")
    assert found is not None
    return found["outcome"], found["detail"]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (OutcomeUnknown("nobody knows"), "unknown"),
        (NeedsPerson("somebody has to look"), "unknown"),
        (TryAgain("not yet"), "failed"),
        (KafkaDrError("it broke"), "failed"),
        (Refused("not allowed"), "failed"),
    ],
)
def test_each_error_is_an_outcome_that_is_kept(world: World, error: KafkaDrError, outcome: str) -> None:
    assert ended_by(error, world).record.outcome == outcome
    assert kept(world) == (outcome, str(error))


def test_whoever_asks_says_what_a_refusal_means(world: World) -> None:
    assert ended_by(Refused("not allowed"), world, refusal="refused").record.outcome == "refused"


def test_a_mistake_of_the_program_is_kept_and_shows_where_it_came_from(world: World) -> None:
    mistake = ZeroDivisionError("division by zero")
    assert ended_by(mistake, world).__cause__ is mistake
    assert kept(world) == ("failed", "unforeseen ZeroDivisionError: division by zero")


def test_what_the_work_says_is_the_outcome(world: World) -> None:
    record = Attempt.start(REQUEST, world, "drain", 5).carry_out(world, lambda: ("done", "all is there"))
    assert (record.outcome, record.detail) == kept(world) == ("done", "all is there")

"""A group that no program continues to move: named at once by each register that answers, whatever the others know."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.errors import TryAgain
from kafka_dr.health.half_moved import claimed_unseen, half_moved
from kafka_dr.health.stalled_runs import check_run, half_moved_group
from kafka_dr.outcomes import Check
from kafka_dr.register import Phase, Verb
from kafka_dr.register.holding import Author
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.signs_of_life import ALIVE
from kafka_dr.watch_results.running_steps import DEAD_AFTER
from support.failing_storage import StoredClients
from support.manual_clock import ManualClock
from support.register_states import AT, a_state
from support.sentences import assert_sentence

PLANNED: Verb = "planned_failover"


def beat(at: float, *, epoch: int = 4, attempt: int = 1, ended: bool = False) -> dict[str, Any]:
    stamp = (AT + timedelta(seconds=at)).isoformat()
    return {ALIVE: {"epoch": epoch, "attempt": attempt, "at": stamp, "began_at": stamp, "ended": ended}}


def judged(
    *journals: dict[str, Any],
    after: float,
    silent: tuple[str, ...] = (),
    seen: datetime | None = None,
    phase: Phase = Phase.SWITCHING,
    verb: Verb = PLANNED,
    attempt: int = 1,
) -> Check | None:
    state = a_state(phase=phase, run="run-7", epoch=4, verb=verb, at=AT, attempt=attempt, attempt_at=AT)
    return half_moved(state, journals, silent=silent, seen=seen, now=AT + timedelta(seconds=after))


def said(found: Check | None) -> str:
    assert found is not None
    assert (found.name, found.outcome) == ("half_moved", "failed")
    return found.detail


@pytest.mark.parametrize(
    ("verb", "phase", "decides"),
    [
        (PLANNED, Phase.SWITCHING, "east"),
        ("unplanned_failover", Phase.SWITCHING, "west"),
        (PLANNED, Phase.HANDED_OVER, "east"),
        ("take_over", Phase.ADOPTING, "east"),
        ("un_adopt", Phase.RELEASING, "east"),
    ],
)
def test_a_run_whose_deciding_register_is_silent_is_named_at_once_however_alive_it_is(
    verb: Verb, phase: Phase, decides: str
) -> None:
    other = {"east": "west", "west": "east"}[decides]
    assert judged(beat(1), after=2, verb=verb, phase=phase, silent=(other,)) is None
    found = said(judged(beat(1), after=2, verb=verb, phase=phase, silent=(decides,)))
    assert_sentence(found)
    assert ("dr_unplanned_failover" in found) is (verb == PLANNED and phase is Phase.SWITCHING)
    assert ("abandon" in found) is (phase is not Phase.HANDED_OVER)


@pytest.mark.parametrize("phase", [Phase.SWITCHING, Phase.HANDED_OVER, Phase.ADOPTING, Phase.RELEASING])
def test_a_run_that_no_process_executes_is_named_within_a_minute(phase: Phase) -> None:
    assert timedelta(seconds=40) < DEAD_AFTER < timedelta(minutes=1)
    limit = DEAD_AFTER.total_seconds()
    assert judged(beat(10), after=10 + limit, phase=phase) is None
    found = said(judged(beat(10), {}, after=11 + limit, phase=phase))
    assert_sentence(found)
    assert judged({}, beat(10), after=11 + limit, phase=phase, seen=AT + timedelta(seconds=12)) is None


def test_a_claim_that_no_process_took_counts_from_its_record() -> None:
    limit = DEAD_AFTER.total_seconds()
    assert judged({}, after=limit, attempt=0) is None
    assert judged({}, after=limit + 1, attempt=0) is not None


def test_a_process_that_said_that_it_ended_is_followed_within_seconds_or_the_run_is_named() -> None:
    assert judged(beat(10, ended=True), after=25) is None
    assert_sentence(said(judged(beat(10, ended=True), after=26)))
    assert judged(beat(10, ended=True, attempt=1), after=26, attempt=2) is None, "another process continues it"


@pytest.mark.parametrize("phase", [Phase.STABLE, Phase.UNFENCED, Phase.DIVERGED, Phase.RELEASED])
def test_a_group_that_no_run_holds_is_not_half_moved(phase: Phase) -> None:
    assert judged(beat(1), after=9000, phase=phase, silent=("east",)) is None


def test_a_roll_back_that_has_not_proven_that_the_source_is_open_is_named() -> None:
    fenced = {"fence_begun": {"at": AT.isoformat()}}
    rolled: dict[str, Any] = {"phase": Phase.STABLE, "verb": "roll_back"}
    assert judged(fenced | beat(1), after=10, **rolled) is None
    assert_sentence(said(judged(fenced | beat(1), after=10, silent=("east",), **rolled)))
    assert_sentence(said(judged({}, fenced | beat(1), after=60, **rolled)))
    assert judged({"source_touched": {}}, after=60, **rolled) is not None
    assert judged(beat(1), after=9000, silent=("east",), **rolled) is None, "it has fenced nothing"


def test_a_claim_that_only_a_silent_register_knows_is_named() -> None:
    stable = a_state(epoch=3)
    claim = {"source": "east", "target": "west", "epoch": 4}
    histories = [{"run-7": {"claim": claim}, "run-3": {"claim": claim | {"epoch": 3}}}]
    assert_sentence(said(claimed_unseen(stable, histories, silent=("east",))))
    assert claimed_unseen(stable, histories, silent=()) is None
    assert claimed_unseen(a_state(epoch=4), histories, silent=("east",)) is None
    assert claimed_unseen(a_state(epoch=3, phase=Phase.SWITCHING), histories, silent=("east",)) is None


@pytest.mark.parametrize("copied", [True, False])
def test_health_names_a_run_whose_source_fell_silent_right_after_its_claim(tmp_path: Path, copied: bool) -> None:
    clients = StoredClients(tmp_path)
    assert isinstance(clients.clock, ManualClock)
    stable = a_state(at=clients.clock.now())
    claimed = a_state(phase=Phase.SWITCHING, verb=PLANNED, run="run-7", epoch=2, at=clients.clock.now())
    claim = {"source": "east", "target": "west", "epoch": 2}
    for register in clients.registers.values():
        register.compare_and_set(None, stable)
        register.write_fact("orders", "run-7", "claim", claim, by=Author("run-7", 1, 0, holds=False))
    clients.registers["east"].compare_and_set(stable, claimed)
    if copied:
        clients.registers["west"].copy(claimed)
    clients.silent.add("east")
    group = GroupContext("orders", clients)
    group.known_silent = {"east": TryAgain("east does not answer")}
    found = check_run(group, claimed if copied else stable)
    assert_sentence(said(found))


def test_a_roll_back_that_is_sealed_has_proven_that_the_source_is_open(tmp_path: Path) -> None:
    clients = StoredClients(tmp_path)
    clock = clients.clock
    assert isinstance(clock, ManualClock)
    rolled = a_state(verb="roll_back", run="run-7", at=clock.now())
    for register in clients.registers.values():
        register.compare_and_set(None, rolled)
        fenced = {"at": clock.now().isoformat()}
        register.write_fact("orders", "run-7", "fence_begun", fenced, by=Author("run-7", rolled.epoch, 0, holds=True))
    clock.advance(60)
    group = GroupContext("orders", clients)
    assert_sentence(said(half_moved_group(group, rolled)))
    for register in clients.registers.values():
        register.write_fact("orders", "run-7", "sealed", {"sealed_at": clock.now().isoformat()})
    assert half_moved_group(group, rolled) is None

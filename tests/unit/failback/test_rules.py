"""The rules of a failback: which step may run, what is quarantined, and when a quarantine is not possible."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kafka_dr.audit.stranded import StrandedList, StrandedPartition
from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.errors import Refused
from kafka_dr.failback.quarantine import ranges_of, reasons_against
from kafka_dr.offsets.translate.answers import TranslatedOffset
from kafka_dr.offsets.translate.pipeline import past_ignored, without_ignored
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.quarantine import QuarantinedRange
from kafka_dr.register.state import roles_in
from kafka_dr.register.transitions import failback_abandoned, failback_begun, failed_back
from kafka_dr.runs.request import FAILBACK, VERBS, StepName
from kafka_dr.runs.step_order import turn_of
from kafka_dr.verbs.table import VERB_PARTS
from support.register_states import a_state

AT = datetime(2026, 1, 1, tzinfo=UTC)
LEFT = a_state(
    epoch=1000, phase=Phase.DIVERGED, active="west", standby="east", verb="unplanned_failover", run="disaster"
)
PAYMENTS = TopicPartition("orders.payments", 0)
BEFORE_CLAIM = {StepName.PREFLIGHT, StepName.APPROVAL, StepName.SECOND_APPROVAL, StepName.CLAIM}


def begun(state: RegisterState = LEFT, *, run: str = "home") -> RegisterState:
    return failback_begun(state, run=run, evidence_sha256="", approved_by="alice", at=AT)


def partition(**changes: object) -> StrandedPartition:
    made = StrandedPartition("orders.payments", 0, 80, 100, 125, 100, records=20, ranges=((100, 120),))
    return replace(made, **changes)  # type: ignore[arg-type]


def a_list(*partitions: StrandedPartition, **changes: object) -> StrandedList:
    made = StrandedList("orders", "disaster", "east", "west", AT, {}, {}, partitions or (partition(),))
    return replace(made, **changes)  # type: ignore[arg-type]


def at(offset: int | None, group: str = "orders-slow") -> TranslatedOffset:
    return TranslatedOffset(50, offset, "exact", 0, "found", group=group, partition=PAYMENTS)


def test_every_step_but_the_approvals_has_a_module() -> None:
    people = {StepName.APPROVAL, StepName.SECOND_APPROVAL}
    assert {step.name for step in VERBS["failback"].steps} - people == set(VERB_PARTS["failback"].steps)
    assert [step.number for step in FAILBACK] == list(range(1, len(FAILBACK) + 1))


@pytest.mark.parametrize("step", [step.name for step in FAILBACK])
def test_the_register_decides_which_step_may_run(step: StepName) -> None:
    own, settled = begun(), failed_back(begun(), run="home", quarantine=(), at=AT)
    late = step in (StepName.SETTLE, StepName.REPORT)
    before = turn_of(step, "home", LEFT, "failback").verdict
    assert before == ("its_turn" if step in BEFORE_CLAIM else "refused")
    expected = "passed" if step in BEFORE_CLAIM - {StepName.CLAIM} else "its_turn"
    assert turn_of(step, "home", own, "failback").verdict == ("refused" if step is StepName.REPORT else expected)
    assert turn_of(step, "home", settled, "failback").verdict == ("its_turn" if late else "passed")
    assert turn_of(step, "other", own, "failback").verdict == "refused"
    unfenced = roles_in(Phase.UNFENCED, active="west", standby="east")
    assert turn_of(step, "home", replace(LEFT, phase=Phase.UNFENCED, roles=unfenced), "failback").verdict == "refused"


def test_a_failback_takes_a_new_epoch_and_another_one_may_begin_when_it_is_abandoned() -> None:
    own = begun()
    assert (own.epoch, own.revision, own.verb) == (1001, 0, "failback")
    with pytest.raises(Refused, match="abandon that run"):
        begun(own, run="other")
    given_up = failback_abandoned(own, run="home", at=AT)
    assert (given_up.phase, given_up.epoch) == (Phase.DIVERGED, 1002)
    assert turn_of(StepName.CATCH_UP, "home", given_up, "failback").verdict == "refused"
    assert begun(given_up, run="other").epoch == 1003
    with pytest.raises(Refused, match="no failback owns it"):
        failback_abandoned(LEFT, run="disaster", at=AT)


def test_a_quarantine_begins_after_the_last_copied_record_and_reaches_the_end() -> None:
    assert ranges_of(a_list()) == (QuarantinedRange("orders.payments", 0, 100, 125),)
    passed_over = partition(ranges=((85, 86), (104, 120)), records=17)
    assert ranges_of(a_list(passed_over)) == (
        QuarantinedRange("orders.payments", 0, 85, 86),
        QuarantinedRange("orders.payments", 0, 100, 125),
    )
    assert ranges_of(a_list(partition(records=0, ranges=()))) == ()


@pytest.mark.parametrize(
    ("found", "compacted", "positions", "said"),
    [
        (a_list(), set(), [at(100), at(110), at(130)], ""),
        (a_list(), {"orders.state"}, [at(100)], ""),
        (a_list(), {"orders.payments"}, [], "orders.payments on east is compacted"),
        (a_list(partition(missing=3)), set(), [], "east has lost 3 records that had been copied"),
        (a_list(gone=("orders.old",)), set(), [], "east has lost orders.old"),
        (a_list(), set(), [at(99)], "orders-slow would read stranded records on east: in orders.payments-0"),
        (a_list(), set(), [at(None)], "orders-slow would read stranded records"),
        (a_list(partition(records=0, ranges=())), {"orders.payments"}, [at(3)], ""),
    ],
)
def test_a_quarantine_is_refused_if_a_group_would_read_stranded_records(
    found: StrandedList, compacted: set[str], positions: list[TranslatedOffset], said: str
) -> None:
    reasons = reasons_against(found, ranges_of(found), compacted=compacted, positions=positions, log_starts={})
    assert bool(reasons) == bool(said)
    assert said in "; ".join(reasons)


def test_a_range_that_retention_has_deleted_is_no_reason_against_it() -> None:
    found = a_list()
    reasons = reasons_against(
        found, ranges_of(found), compacted={"orders.payments"}, positions=[at(3)], log_starts={PAYMENTS: 125}
    )
    assert reasons == []


@pytest.mark.parametrize(("position", "left"), [(40, 25), (60, 25), (70, 15), (84, 1), (85, 0)])
def test_what_a_group_has_not_read_of_a_range_without_a_copy_is_counted(position: int, left: int) -> None:
    found = without_ignored(replace(at(7), source_offset=position), [OffsetRange(60, 85)])
    assert found.target_offset == 7
    said = f"found; {left} offsets that it has not read on the source are quarantined, and have no copy"
    assert found.reason == (said if left else "found")


@pytest.mark.parametrize(("offset", "expected"), [(99, None), (100, 125), (124, 125), (125, 125), (140, 140)])
def test_no_offset_is_inside_a_quarantined_range(offset: int, expected: int | None) -> None:
    found = past_ignored(at(offset), [OffsetRange(100, 125)])
    assert found.target_offset == expected
    assert found.kind == ("unknown" if expected is None else "exact")

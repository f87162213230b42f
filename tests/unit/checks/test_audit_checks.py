"""What the newest audits mean for a failover: policy excuses a missing audit, and never one that could not decide."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.approvals.approval_sheet import listed
from kafka_dr.audit.gate import GateAnswer, GateVerdict
from kafka_dr.audit.result import AuditKind, AuditResult, AuditVerdict, ResultStore
from kafka_dr.checks.audit_checks import audit_check, by_policy, flow_began
from kafka_dr.evidence.status_colour import colour_of
from kafka_dr.outcomes import Check, worst
from kafka_dr.replication.flow import Flow
from kafka_dr.topology.group_keys import AuditsSpec
from kafka_dr.watch_results import KeptResult, WatchOutcome, WatchResultStore
from support.register_states import a_state
from support.sentences import assert_sentence

FLOW = Flow("orders", "east", "west")


def judged(answer: GateAnswer, policy: str, *, kind: AuditKind = AuditKind.CHECKSUM, taken_over: bool = False) -> Check:
    audits = AuditsSpec.model_validate({"before_failover": policy})
    return by_policy(GateVerdict(answer, "as it was"), kind, audits, taken_over=taken_over)


def seeded(epoch: int, *, source: str = "east", target: str = "west", mode: str = "start") -> dict[str, Any]:
    seed = {"epoch": epoch, "source": source, "target": target, "source_positions": [], "target_positions": []}
    return {"flow_seed": {**seed, "mode": mode}}


@pytest.mark.parametrize("kind", list(AuditKind))
@pytest.mark.parametrize(
    ("answer", "green", "not_red"),
    [
        (GateAnswer.GREEN, "ok", "ok"),
        (GateAnswer.WARNING, "warning", "warning"),
        (GateAnswer.RED, "failed", "failed"),
        (GateAnswer.TOO_OLD, "failed", "excused"),
        (GateAnswer.NEVER, "unknown", "excused"),
        (GateAnswer.UNKNOWN, "unknown", "unknown"),
    ],
)
def test_only_a_missing_or_outdated_audit_is_excused_and_only_by_policy(
    kind: AuditKind, answer: GateAnswer, green: str, not_red: str
) -> None:
    assert judged(answer, "green", kind=kind).outcome == green
    assert judged(answer, "not_red", kind=kind).outcome == not_red
    assert judged(answer, "green", kind=kind).name == f"{kind}_audit"


def test_an_excused_audit_says_that_it_is_unknown_and_lets_a_run_begin() -> None:
    found = judged(GateAnswer.NEVER, "not_red")

    assert_sentence(found.detail)
    assert worst([found, Check("other", "ok", "")]) == "ok"
    assert worst([found, Check("other", "unknown", "")]) == "unknown"


def test_findings_that_block_nothing_let_a_run_begin_and_do_not_look_clean() -> None:
    found = judged(GateAnswer.WARNING, "green", kind=AuditKind.LAG)
    assert (found.passes, found.outcome) == (True, "warning")
    assert (colour_of(found.outcome), colour_of("ok")) == ("warn", "good")
    shown = listed("Checks", [{"name": found.name, "outcome": found.outcome, "detail": found.detail}])
    assert_sentence(shown)


def test_what_a_flow_copied_before_it_was_adopted_is_audited_whatever_the_policy() -> None:
    assert judged(GateAnswer.NEVER, "not_red", taken_over=True).outcome == "unknown"
    assert judged(GateAnswer.TOO_OLD, "not_red", taken_over=True).outcome == "excused"
    assert judged(GateAnswer.NEVER, "not_red", taken_over=True, kind=AuditKind.LAG).outcome == "excused"


def test_an_audit_counts_for_the_seed_that_its_flow_began_at_however_often_a_run_was_rolled_back_since() -> None:
    history = {"adoption": seeded(1), "switch": seeded(4, source="west", target="east"), "back": seeded(5)}

    assert flow_began(history, a_state(epoch=9), FLOW) == (5, False)
    assert flow_began({"adoption": seeded(1, mode="continue")}, a_state(epoch=3), FLOW) == (1, True)


def test_a_flow_without_a_seed_of_its_own_is_only_known_by_the_registers_epoch() -> None:
    assert flow_began({"switch": seeded(2, source="west", target="east")}, a_state(epoch=3), FLOW) == (3, False)
    assert flow_began({}, a_state(epoch=3), FLOW) == (3, False)
    assert flow_began({}, None, FLOW) == (0, False)


NOW = datetime(2026, 11, 27, 3, tzinfo=UTC)
WHY = "no result within 300 s, so it was ended, and nothing was judged"


def checked(root: Path, kind: AuditKind, outcome: WatchOutcome, *, minutes_ago: float, filed: float | None) -> Check:
    """Judge the newest audit of a flow.

    :param minutes_ago: when the watch kept its result
    :param filed: minutes since an audit ended and filed one; ``None`` if none ever did
    """
    if filed is not None:
        at = NOW - timedelta(minutes=filed)
        ResultStore(root).write(AuditResult(kind, "orders", "east", "west", 3, AuditVerdict.GREEN, at, "all of it"))
    looked_at = NOW - timedelta(minutes=minutes_ago)
    WatchResultStore(root).keep(KeptResult("orders", kind.value, outcome, (WHY,), looked_at))
    audits = AuditsSpec.model_validate({"before_failover": "green"})
    run: Any = SimpleNamespace(
        group=SimpleNamespace(name="orders", audits=audits),
        clients=SimpleNamespace(evidence_root=root, clock=SimpleNamespace(now=lambda: NOW)),
        clock=SimpleNamespace(now=lambda: NOW),
        history={},
        history_of_flows=lambda _: {},
        register_state=a_state(epoch=3),
        flow=FLOW,
        source="east",
        target="west",
        declared=SimpleNamespace(closes=lambda _: True),
        owns_flow=lambda _: True,
    )
    return audit_check(kind, run)


@pytest.mark.parametrize("kind", list(AuditKind))
def test_an_audit_that_did_not_end_is_named_with_its_cause_where_none_or_only_an_old_one_counts(
    tmp_path: Path, kind: AuditKind
) -> None:
    never = checked(tmp_path, kind, "unknown", minutes_ago=2, filed=None)
    old = checked(tmp_path, kind, "unknown", minutes_ago=2, filed=60 * 24)
    said = f"the last {kind} audit, of 2026-11-27 02:58 UTC, did not end: {WHY}. "
    assert never.outcome == "unknown"
    assert_sentence(never.detail)
    assert old.outcome == "failed"
    assert old.detail.startswith(said)


@pytest.mark.parametrize(("outcome", "minutes_ago", "filed"), [("unknown", 5, 1), ("left_alone", 2, None)])
def test_one_that_ended_since_or_was_not_begun_is_not_said_to_have_failed(
    tmp_path: Path, outcome: WatchOutcome, minutes_ago: float, filed: float | None
) -> None:
    found = checked(tmp_path, AuditKind.LAG, outcome, minutes_ago=minutes_ago, filed=filed)
    assert "did not end" not in found.detail
    assert (found.outcome == "ok") == (filed is not None)

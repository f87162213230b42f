"""From the claim on a step continues without its evidence storage: the registers keep what it saw until it is filed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from kafka_dr.evidence.known_secrets import SecretInEvidence
from kafka_dr.evidence.sealed_run_check import check_sealed_run
from kafka_dr.evidence.store import EvidenceUnwritable
from kafka_dr.health.stalled_runs import check_evidence, check_run
from kafka_dr.register import Phase, Verb
from kafka_dr.runs import unfiled
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import StepFailed, StepRecord
from kafka_dr.runs.request import VERBS, RunRequest, StepName
from kafka_dr.runs.sealing import seal_or_later, seal_run
from kafka_dr.verbs import runner
from kafka_dr.verbs.table import VERB_PARTS
from support.failing_storage import StoredClients
from support.manual_clock import ManualClock
from support.register_states import a_state
from support.sentences import assert_sentence

RUN = "run-1"
_NOT_BEFORE_THE_CLAIM = (StepName.PREFLIGHT, StepName.GATHER_EVIDENCE)
_APPROVALS = (StepName.APPROVAL, StepName.SECOND_APPROVAL)
STEPS: list[tuple[Verb, StepName]] = [
    (verb, step.name) for verb in VERBS for step in VERBS[verb].steps if step.name not in _APPROVALS
]


@pytest.fixture
def clients(tmp_path: Path) -> StoredClients:
    return StoredClients(tmp_path / "evidence")


@pytest.fixture
def every_step_acts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps whose turn it always is, and which do nothing."""
    module = SimpleNamespace(intent=lambda _: (), act=lambda run: {"acted": run.request.run})
    parts = {verb: replace(VERB_PARTS[verb], steps={s.name: module for s in VERBS[verb].steps}) for verb in VERBS}
    monkeypatch.setattr(runner, "VERB_PARTS", parts)

    def go(module: Any, step: StepName, run: Any, attempt: Attempt) -> tuple[str, str]:
        attempt.facts = module.act(run)
        return "done", f"{step} acted"

    monkeypatch.setattr(runner, "_go", go)


def request_of(verb: Verb) -> RunRequest:
    return RunRequest("orders", RUN, source="east", target="west", verb=verb)


def files(clients: StoredClients) -> list[str]:
    folder = Path(str(clients.evidence_root)) / "runs" / "orders" / RUN
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def attempt(clients: StoredClients, step: str = "drain", detail: str = "it drained", **more: Any) -> StepRecord:
    started = Attempt.start("orders", RUN, clients, step, 5, without_storage="always")
    started.facts = more
    record = started.end(clients, "done", detail)
    assert isinstance(clients.clock, ManualClock)
    clients.clock.advance(1)
    return record


@pytest.mark.parametrize("state", ["hangs", "is full"])
@pytest.mark.parametrize(("verb", "step"), STEPS)
def test_from_the_claim_on_no_step_of_a_verb_waits_for_its_storage(
    clients: StoredClients,
    every_step_acts: None,
    verb: Verb,
    step: StepName,
    state: Literal["hangs", "is full"],
) -> None:
    for register in clients.registers.values():
        register.compare_and_set(None, a_state(phase=Phase.SWITCHING, run=RUN, verb=verb))
    clients.storage.state = state
    if step in _NOT_BEFORE_THE_CLAIM:
        with pytest.raises(EvidenceUnwritable, match=r"name another evidence\.root") as refused:
            runner.run_step(step, request_of(verb), clients)
        assert "start again" in str(refused.value)
        assert clients.registers["west"].facts("orders", RUN) == {}
        return
    record = runner.run_step(step, request_of(verb), clients)
    assert record.outcome == "done"
    assert "not filed; the register of east and of west keeps it" in record.evidence
    kept = unfiled.waiting_in([clients.registers["west"].facts("orders", RUN)])
    assert [(each.step, each.record["facts"]) for each in kept] == [(step, {"acted": RUN})]
    assert files(clients) == []

    clients.storage.state = "works"
    seal_run(clients, "orders", RUN)
    found = clients.evidence.newest("orders", RUN, step)
    assert found is not None
    assert found["detail"] == f"{step} acted"
    assert unfiled.waiting_in([clients.registers["west"].facts("orders", RUN)]) == ()


@pytest.mark.parametrize(("verb", "step"), [(verb, step) for verb, step in STEPS if step != "report"])
def test_a_step_that_files_its_evidence_journals_nothing_else(
    clients: StoredClients, every_step_acts: None, verb: Verb, step: StepName
) -> None:
    """Each write to a register makes the write outage longer. Only the report adds a fact: the seal."""
    for register in clients.registers.values():
        register.compare_and_set(None, a_state(phase=Phase.SWITCHING, run=RUN, verb=verb))
    assert runner.run_step(step, request_of(verb), clients).outcome == "done"
    assert [register.facts("orders", RUN) for register in clients.registers.values()] == [{}, {}]


def test_a_dry_run_and_a_claim_that_was_refused_have_changed_nothing_and_are_not_kept(
    clients: StoredClients, every_step_acts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients.storage.state = "is full"
    dry = RunRequest("orders", RUN, source="east", target="west", dry_run=True)
    with pytest.raises(EvidenceUnwritable):
        runner.run_step(StepName.DRAIN, dry, clients)
    monkeypatch.setattr(runner, "_go", lambda *_: ("refused", "nobody approved it"))
    with pytest.raises(EvidenceUnwritable):
        runner.run_step(StepName.CLAIM, request_of("planned_failover"), clients)


def test_a_step_that_failed_is_kept_as_well(
    clients: StoredClients, every_step_acts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients.storage.state = "hangs"
    monkeypatch.setattr(runner, "_go", lambda *_: ("failed", "the copy differs"))
    with pytest.raises(StepFailed, match="the copy differs"):
        runner.run_step(StepName.FENCE, request_of("unplanned_failover"), clients)
    assert unfiled.waiting_in([clients.registers["east"].facts("orders", RUN)])[0].record["outcome"] == "failed"


def test_attempts_keep_their_order_when_they_are_filed_with_the_next_step(
    clients: StoredClients, every_step_acts: None
) -> None:
    for register in clients.registers.values():
        register.compare_and_set(None, a_state(phase=Phase.SWITCHING, run=RUN))
    clients.storage.state = "is full"
    attempt(clients, detail="the first")
    attempt(clients, detail="the second")
    clients.storage.state = "works"
    runner.run_step(StepName.DRAIN, request_of("planned_failover"), clients)
    folder = Path(str(clients.evidence_root)) / "runs" / "orders" / RUN
    details = [json.loads((folder / f"05-drain.{n}.json").read_bytes())["detail"] for n in (1, 2, 3)]
    assert details == ["the first", "the second", "drain acted"]


def test_a_record_too_large_for_one_message_is_kept_in_parts(clients: StoredClients) -> None:
    clients.storage.state = "hangs"
    rows = [f"orders.payments-{number}" for number in range(60_000)]
    attempt(clients, rows=rows)
    clients.storage.state = "works"
    seal_run(clients, "orders", RUN)
    found = clients.evidence.newest("orders", RUN, "drain")
    assert found is not None
    assert found["facts"]["rows"] == rows


def test_what_is_kept_in_the_registers_is_checked_for_secrets(clients: StoredClients) -> None:
    clients.evidence.secrets.add("correct horse battery")
    clients.storage.state = "hangs"
    started = Attempt.start("orders", RUN, clients, "flip_route", 9, goes_forward=True)
    started.facts = {"said": "it is correct horse battery"}
    assert_sentence(started.end(clients, "done", "flipped").detail)
    assert len(unfiled.waiting_in([clients.registers["west"].facts("orders", RUN)])) == 1
    assert "correct horse" not in json.dumps(clients.registers["west"].facts("orders", RUN))
    with pytest.raises(SecretInEvidence):
        unfiled.keep(
            clients, "orders", RUN, (5, "drain"), {"x": "correct horse battery"}, at=clients.clock.now(), why=""
        )


def test_one_register_is_enough_and_none_is_named(clients: StoredClients) -> None:
    clients.storage.state = "hangs"
    clients.silent = {"east"}
    assert "the register of west keeps it" in attempt(clients).evidence
    clients.silent = {"east", "west"}
    with pytest.raises(EvidenceUnwritable, match="The registers do not keep it, either"):
        attempt(clients)


def test_what_one_register_calls_filed_is_filed() -> None:
    record = {"number": 5, "step": "drain", "record": {}, "why": ""}
    filed = {"filed": "runs/orders/run-1/05-drain.1.json", "sha256": "", "at": ""}
    name = "unfiled.05-drain.20260314T150926535897"
    assert unfiled.waiting_in([{name: record}, {name: filed}]) == ()
    assert unfiled.waiting_in([{name: filed}, {name: record}]) == ()
    assert len(unfiled.waiting_in([{name: record}, {"claim": {}}])) == 1


def test_a_record_that_was_filed_by_a_call_without_an_answer_is_not_filed_twice(clients: StoredClients) -> None:
    clients.storage.state = "is full"
    attempt(clients)
    kept = unfiled.waiting_in([clients.registers["west"].facts("orders", RUN)])
    clients.storage.state = "works"
    for _ in range(2):
        assert unfiled.file_all(clients, "orders", RUN, kept) == ()
    assert files(clients) == ["05-drain.1.json"]


def test_a_seal_without_some_evidence_says_so_and_is_made_again_when_it_is_filed(
    clients: StoredClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt(clients, step="claim")
    clients.storage.state = "is full"
    attempt(clients)
    clients.storage.state = "works"

    def still_full(_: object, __: str, ___: str, waiting: Sequence[unfiled.UnfiledStep]) -> tuple[Any, ...]:
        return tuple(waiting)

    with monkeypatch.context() as change:
        change.setattr(unfiled, "file_all", still_full)
        seal_run(clients, "orders", RUN)
    folder = Path(str(clients.evidence_root)) / "runs" / "orders" / RUN
    assert "Incomplete: the evidence of 05-drain is not in this seal" in (folder / "report.html").read_text()
    assert json.loads((folder / "manifest.json").read_bytes())["incomplete"] == ["05-drain"]
    checked = check_sealed_run(folder)
    assert "the evidence of 05-drain was never filed: the seal is incomplete" in checked.unproven
    assert checked.changed == ()

    seal_run(clients, "orders", RUN)
    checked = check_sealed_run(folder)
    assert (checked.changed, checked.seals) == ((), 2)
    assert not any("incomplete" in said for said in checked.unproven)


def test_a_run_that_cannot_be_sealed_now_is_filed_and_sealed_by_the_check_of_every_minute(
    clients: StoredClients,
) -> None:
    clients.storage.state = "hangs"
    Attempt.start("orders", RUN, clients, "report", 12, without_storage="always").end(clients, "done", "measured")
    assert seal_or_later(clients, "orders", RUN) is None
    context = GroupContext("orders", clients)
    waits = check_evidence(context)
    assert (waits.outcome, waits.name) == ("failed", "evidence")
    assert_sentence(waits.detail)
    clients.storage.state = "works"
    assert_sentence(check_evidence(context).detail)
    assert clients.evidence.is_sealed_with("orders", RUN, "report")
    asked = clients.storage.asked
    assert check_evidence(context).outcome == "ok"
    assert clients.storage.asked == asked


@pytest.mark.parametrize("refused", ["report.html", "SHA256SUMS", "manifest"])
def test_a_storage_that_takes_the_report_and_not_its_seal_gets_the_seal_from_the_check_of_every_minute(
    clients: StoredClients, refused: str
) -> None:
    state = a_state(phase=Phase.STABLE, run=RUN, verb="planned_failover", at=clients.clock.now())
    context = GroupContext("orders", clients)
    clients.storage.refuses = (refused,)
    assert attempt(clients, step="report").evidence_sha256
    assert seal_or_later(clients, "orders", RUN) is None
    waits = check_evidence(context, state)
    assert waits.outcome == "failed"
    assert_sentence(waits.detail)
    clients.storage.refuses = ()
    assert_sentence(check_evidence(context, state).detail)
    assert not context.is_unsealed(state)
    folder = Path(str(clients.evidence_root)) / "runs" / "orders" / RUN
    assert check_sealed_run(folder).changed == ()
    asked = clients.storage.asked
    assert_sentence(check_evidence(context, state).detail)
    assert clients.storage.asked == asked


def test_a_storage_that_takes_a_seal_and_not_a_record_says_so_in_the_seal_until_it_takes_the_record(
    clients: StoredClients,
) -> None:
    state = a_state(phase=Phase.STABLE, run=RUN, verb="planned_failover", at=clients.clock.now())
    context = GroupContext("orders", clients)
    clients.storage.refuses = ("05-drain",)
    assert "not filed" in attempt(clients).evidence
    assert attempt(clients, step="report").evidence_sha256
    assert seal_or_later(clients, "orders", RUN) is not None
    folder = Path(str(clients.evidence_root)) / "runs" / "orders" / RUN
    assert "the evidence of 05-drain was never filed: the seal is incomplete" in check_sealed_run(folder).unproven
    assert context.is_unsealed(state)
    assert check_evidence(context, state).outcome == "failed"
    clients.storage.refuses = ()
    assert_sentence(check_evidence(context, state).detail)
    assert not context.is_unsealed(state)
    checked = check_sealed_run(folder)
    assert (checked.changed, any("incomplete" in said for said in checked.unproven)) == ((), False)


def test_the_registers_show_whether_a_run_lives_while_evidence_hangs(clients: StoredClients) -> None:
    assert isinstance(clients.clock, ManualClock)
    began = clients.clock.now() + timedelta(seconds=3600)
    state = a_state(phase=Phase.SWITCHING, run=RUN, at=clients.clock.now(), attempt=1, attempt_at=began)
    for register in clients.registers.values():
        register.compare_and_set(None, state)
    clients.storage.state = "hangs"
    clients.clock.advance(3610)
    context = GroupContext("orders", clients)
    assert check_run(context, state).outcome == "ok"
    clients.clock.advance(36_000)
    assert check_run(context, state).outcome == "failed"


def test_a_run_is_over_by_the_registers_while_evidence_hangs(clients: StoredClients) -> None:
    state = a_state(phase=Phase.STABLE, run=RUN, verb="planned_failover", at=clients.clock.now())
    attempt(clients, step="report")
    seal_run(clients, "orders", RUN)
    clients.storage.state = "hangs"
    assert not GroupContext("orders", clients).is_unsealed(state)

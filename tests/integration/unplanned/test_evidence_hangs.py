"""The source is dead, the evidence storage hangs or is full: the group works on the target, registers keep the rest."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from unittest import mock

import pytest

from kafka_dr.evidence.store import EvidenceUnwritable
from kafka_dr.health.stalled_runs import check_evidence
from kafka_dr.register import Phase
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.request import StepName
from kafka_dr.storage.access import AccessDeadline
from kafka_dr.storage.child_access import ChildAccess
from support.disaster import STEPS, Disaster
from support.storage_mounts import full, hanging

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize("broken", [hanging, pytest.param(full, marks=pytest.mark.long)])
def test_a_source_is_given_up_although_the_evidence_hangs_or_is_full_from_the_claim_on(
    disaster: Disaster, broken: Callable[[Path], AbstractContextManager[None]]
) -> None:
    group = disaster.group
    evidence = group.protection.folder / "evidence"
    disaster.archive_syncs()
    disaster.produce_what_never_crosses(5)
    before = mock.patch("kafka_dr.storage.deadline_path._shared_child", return_value=ChildAccess(AccessDeadline(2)))
    with before, broken(evidence), pytest.raises(EvidenceUnwritable, match=r"name another evidence\.root"):
        disaster.go(StepName.CLAIM)
    disaster.go(StepName.CLAIM)
    request = disaster.request_of(disaster.state().run)
    after = mock.patch("kafka_dr.storage.deadline_path._shared_child", return_value=ChildAccess(AccessDeadline(2)))
    with after, broken(evidence):
        for step in STEPS[STEPS.index(StepName.CLAIM) + 1 :]:
            assert "not filed; the register of west keeps it" in disaster.step(step, request).evidence

    assert (disaster.state().phase, disaster.state().active) == (Phase.UNFENCED, "west")
    assert group.protection.takes_writes("west")
    with group.protection.clients() as clients:
        found = check_evidence(GroupContext(group.name, clients))
        assert (found.outcome, request.run in found.detail) == ("ok", True), found
        assert clients.evidence.is_sealed_with(group.name, request.run, "report")


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("broken", [hanging, full])
def test_storage_that_fails_in_each_step_alone_stops_none_and_all_is_filed_when_the_step_runs_again(
    disaster: Disaster, broken: Callable[[Path], AbstractContextManager[None]]
) -> None:
    group, request = disaster.group, disaster.request()
    evidence = group.protection.folder / "evidence"
    disaster.produce_what_never_crosses(5)
    disaster.approve(request)

    def failing(step: StepName) -> str:
        impatient = mock.patch(
            "kafka_dr.storage.deadline_path._shared_child", return_value=ChildAccess(AccessDeadline(2))
        )
        with impatient, broken(evidence):
            return disaster.step(step, request).evidence

    with pytest.raises(EvidenceUnwritable, match=r"name another evidence\.root"):
        failing(StepName.CLAIM)
    assert disaster.state().phase is Phase.STABLE
    disaster.step(StepName.CLAIM, request)
    after = STEPS[STEPS.index(StepName.CLAIM) + 1 :]
    for step in after:
        assert "not filed; the register of west keeps it" in failing(step)
        assert disaster.step(step, request).evidence_sha256

    assert (disaster.state().phase, disaster.state().active) == (Phase.UNFENCED, "west")
    folder = evidence / "runs" / group.name / request.run
    assert {step: len(list(folder.glob(f"*-{step}.*.json"))) for step in after} == dict.fromkeys(after, 2)
    with group.protection.clients() as clients:
        assert clients.evidence.is_sealed_with(group.name, request.run, "report")

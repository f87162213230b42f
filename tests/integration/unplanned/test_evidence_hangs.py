"""The source is dead and the evidence storage hangs: the group works on the target, and the registers keep the rest."""

from __future__ import annotations

from unittest import mock

import pytest

from kafka_dr.evidence import EvidenceUnwritable
from kafka_dr.health.stalled_runs import check_evidence
from kafka_dr.register import Phase
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.request import StepName
from kafka_dr.storage import ChildAccess
from kafka_dr.storage.access import Patience
from support.disaster import STEPS, Disaster
from support.storage_mounts import hanging

pytestmark = pytest.mark.kafka


def test_a_source_is_given_up_although_the_evidence_hangs_from_the_claim_on(disaster: Disaster) -> None:
    group = disaster.group
    evidence = group.protection.folder / "evidence"
    disaster.archive_syncs()
    disaster.produce_what_never_crosses(5)
    before = mock.patch("kafka_dr.storage.deadline_path._shared_child", return_value=ChildAccess(Patience(2)))
    with before, hanging(evidence), pytest.raises(EvidenceUnwritable, match=r"name another evidence\.root"):
        disaster.go(StepName.CLAIM)
    disaster.go(StepName.CLAIM)
    request = disaster.request_of(disaster.state().run)
    after = mock.patch("kafka_dr.storage.deadline_path._shared_child", return_value=ChildAccess(Patience(2)))
    with after, hanging(evidence):
        for step in STEPS[STEPS.index(StepName.CLAIM) + 1 :]:
            assert "not filed; the register of west keeps it" in disaster.step(step, request).evidence

    assert (disaster.state().phase, disaster.state().active) == (Phase.UNFENCED, "west")
    assert group.protection.takes_writes("west")
    with group.protection.clients() as clients:
        found = check_evidence(GroupContext(group.name, clients))
        assert (found.outcome, request.run in found.detail) == ("ok", True), found
        assert clients.evidence.is_sealed_with(group.name, request.run, "report")

"""The evidence storage is full from the claim on: the failover is done all the same, and all it saw is filed later."""

from __future__ import annotations

import pytest

from kafka_dr.failover.runner import run_step
from kafka_dr.health.stalled_runs import check_evidence
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.request import StepName
from support.protection import STEPS_AFTER_APPROVAL
from support.storage_mounts import full
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka


def test_a_planned_failover_without_space_for_its_evidence_is_finished_and_filed_later(group: SwitchedGroup) -> None:
    request = group.go(StepName.CLAIM)
    after = STEPS_AFTER_APPROVAL[STEPS_AFTER_APPROVAL.index(StepName.CLAIM) + 1 :]
    target = group.standby
    with full(group.protection.folder / "evidence"):
        for step in after:
            with group.protection.clients() as clients:
                record = run_step(step, request, clients)
                assert "not filed; the register of" in record.evidence, record
    assert group.active == target

    with group.protection.clients() as clients:
        context = GroupContext(group.name, clients)
        found = check_evidence(context)
        assert (found.outcome, request.run in found.detail) == ("ok", True), found
        kept = {step: clients.evidence.newest(group.name, request.run, step) for step in after}
        assert [step for step, seen in kept.items() if seen is None or seen["outcome"] != "done"] == []
        seal = clients.evidence.newest_seal(group.name, request.run)
        assert seal is not None
        assert str(clients.evidence.verify(seal)) == "every file is unchanged."
        state = context.read_register_state()
        assert state is not None
        assert not context.is_unsealed(state)

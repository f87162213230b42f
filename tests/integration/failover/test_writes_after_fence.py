"""A record that was written to the old cluster after the last look at it is reported."""

from __future__ import annotations

import pytest

from kafka_dr.failover.planned import verify
from kafka_dr.failover.planned.report import REPORT
from kafka_dr.register import KafkaRegister
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run
from kafka_dr.verbs.runner import run_step
from support import outside_view
from support.protection import Protection
from support.switched_group import Killed, SwitchedGroup, act_only, dying, failed

pytestmark = pytest.mark.kafka


def test_records_written_to_the_old_cluster_after_the_last_look_are_named_and_fail_the_report(
    protection: Protection,
) -> None:
    own_group = SwitchedGroup.adopt(protection, records=100)
    old, new = own_group.active, own_group.standby
    request = own_group.go(StepName.FLIP_ROUTE)
    protection.produce(old, 2, principal="admin")

    with protection.clients() as clients:
        act_only(StepName.VERIFY, request, clients)
        protection.produce(old, 2, principal="admin")
        moving = {check.name: check for check in verify.prove(Run(request, clients))}["old_cluster_is_still"]
    assert moving.outcome == "failed"
    assert f"{old} still accepts writes" in moving.detail

    with protection.clients() as clients:
        verified = run_step(StepName.VERIFY, request, clients)
    settling = dying(KafkaRegister, "compare_and_set", when="before", nth=2)
    with protection.clients() as clients, settling, pytest.raises(Killed):
        run_step(StepName.START_REVERSE_FLOW, request, clients)
    # Records that the reverse flow copies by now do not count.
    protection.produce(new, 10)
    protection.wait_copied(source=new, target=old)
    with protection.clients() as clients:
        again = run_step(StepName.VERIFY, request, clients)
        run_step(StepName.START_REVERSE_FLOW, request, clients)
        reported = failed(StepName.REPORT, request, clients)
        bundle = clients.evidence.newest_seal(own_group.name, request.run)
    moved = f"{protection.topic}-0 (50 to 52), {protection.topic}-1 (50 to 52)"
    named = f"{moved}: records were written on {old} after it was fenced"
    for record in (verified, again, reported):
        assert named in record.facts["past_the_fence"]
    assert reported.facts["rpo_seconds"] is None
    assert "nothing_passed_the_fence" in reported.detail
    assert protection.takes_writes(new)
    assert protection.refuses_writes(old)
    assert bundle is not None


def test_what_the_old_cluster_did_not_answer_is_never_ok_and_asked_again_before_the_reverse_flow_starts(
    protection: Protection,
) -> None:
    own_group = SwitchedGroup.adopt(protection, records=100)
    old, request = own_group.active, own_group.go(StepName.FLIP_ROUTE)
    protection.lab.pause(outside_view.broker_of(old))
    try:
        with protection.clients() as clients:
            clients.hurry(old, 0.5)
            verified = run_step(StepName.VERIFY, request, clients)
            silent = {check.name: check.outcome for check in REPORT.prove(Run(request, clients))}
    finally:
        protection.lab.resume(outside_view.broker_of(old))
        own_group.wait_answering()
    protection.produce(old, 2, principal="admin")

    with protection.clients() as clients:
        run_step(StepName.START_REVERSE_FLOW, request, clients)
        reported = failed(StepName.REPORT, request, clients)

    outcomes = {check.name: check.outcome for check in verified.proofs}
    assert (outcomes["old_cluster_refuses"], outcomes["old_cluster_is_still"]) == ("excused", "excused")
    assert silent["nothing_passed_the_fence"] == "excused"
    assert f"{protection.topic}-0 (50 to 51)" in reported.facts["past_the_fence"]

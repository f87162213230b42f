"""Take the group for a planned failover: the source's register decides."""

from __future__ import annotations

from typing import Any

from kafka_dr.approvals import decision
from kafka_dr.approvals.claim import GROUNDS, ClaimStep
from kafka_dr.failover.planned.checks import preflight_checks
from kafka_dr.group_offsets import live_verification
from kafka_dr.group_offsets.compared_ahead import compare_before_claim
from kafka_dr.register import RegisterState
from kafka_dr.register.transitions import claimed
from kafka_dr.runs.inputs import INPUTS
from kafka_dr.runs.run import Run


def _says(run: Run) -> tuple[str]:
    return (f"write to the registers that this run is switching {run.group.name} (epoch {run.epoch + 1})",)


def _begun(run: Run, signed: dict[str, Any]) -> RegisterState:
    move: dict[str, Any] = {"verb": run.request.verb, "source": run.source, "target": run.target}
    return claimed(run.record(), highest_epoch=run.epoch, **move, **signed)


CLAIM = ClaimStep(
    says=_says,
    decided=lambda run: decision.facts(run, preflight_checks(run, closely=False)),
    begun=_begun,
    facts=lambda run, _: {INPUTS: run.read_inputs(), GROUNDS: run.request.start_to_json()},
    ahead=compare_before_claim,
    dry=lambda run: (live_verification.tail(run),),
)

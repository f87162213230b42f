"""Take the group for its release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_dr.adoption.un_adopt import decision
from kafka_dr.adoption.un_adopt.checks import release_checks
from kafka_dr.adoption.un_adopt.context import ReleaseContext
from kafka_dr.approvals import claim
from kafka_dr.register.transitions import releasing
from kafka_dr.runs.run import Run


def _decided(run: Run) -> Mapping[str, Any]:
    context = ReleaseContext(run)
    return decision.facts(context, release_checks(context))


CLAIM = claim.ClaimStep(
    says=lambda run: (f"write to the registers that this run releases {run.group.name}",),
    decided=_decided,
    begun=lambda run, signed: releasing(run.record(), standby=run.target, **signed),
    facts=lambda run, _: {claim.GROUNDS: {"hand_back_to": ReleaseContext(run).hand_back_to}},
)

"""Take the group for its release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.adoption.un_adopt import decision, leave
from kafka_dr.adoption.un_adopt.checks import release_checks
from kafka_dr.adoption.un_adopt.context import ReleaseContext
from kafka_dr.approvals import claim
from kafka_dr.approvals.journaled import Answer
from kafka_dr.checks.cluster_checks import registers_name_this_run
from kafka_dr.register import RegisterState
from kafka_dr.register.membership import leaving
from kafka_dr.register.transitions import releasing
from kafka_dr.runs.run import Run


def _decided(run: Run) -> Mapping[str, Any]:
    context = ReleaseContext(run)
    return decision.facts(context, release_checks(context))


def _begun(run: Run, signed: dict[str, Any]) -> RegisterState:
    begins = leaving if ReleaseContext(run).leaving else releasing
    return begins(run.record(), standby=run.target, **signed)


def _grounds(run: Run, _: Sequence[Answer]) -> Mapping[str, Mapping[str, Any]]:
    context = ReleaseContext(run)
    one = {"leaves": True, "override": run.override} if context.leaving else {}
    return {claim.GROUNDS: {"hand_back_to": context.hand_back_to, **one}}


def _write(run: Run, fact: str, payload: Mapping[str, Any]) -> None:
    # The cluster that leaves may be off.
    run.write_fact(fact, payload, needed_on=[run.source] if ReleaseContext(run).leaving else None)


def _win(run: Run, before: RegisterState | None, state: RegisterState) -> Mapping[str, Any]:
    wins = leave.claim if run.request.leaves else claim.set_both
    return wins(run, before, state)


CLAIM = claim.ClaimStep(
    says=lambda run: (f"write to the registers that this run releases {_what(run)}",),
    decided=_decided,
    begun=_begun,
    facts=_grounds,
    write=_write,
    win=_win,
    proves=lambda run: leave.claimed(run) if ReleaseContext(run).leaving else registers_name_this_run(run),
)


def _what(run: Run) -> str:
    leaves = ReleaseContext(run).leaving
    return f"{leaves} from {run.group.name}" if leaves else run.group.name

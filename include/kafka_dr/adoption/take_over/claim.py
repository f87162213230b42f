"""Take the group for a take over. Nobody else can take it from then on.

It does not count as adopted: every watch leaves it alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.adoption.take_over import decision
from kafka_dr.adoption.take_over.checks import take_over_checks
from kafka_dr.adoption.take_over.context import TakeOverContext
from kafka_dr.approvals.approval import grounds_gone
from kafka_dr.approvals.claim import ClaimStep, approved_facts, set_both
from kafka_dr.approvals.journaled import Answer
from kafka_dr.register import RegisterState
from kafka_dr.register.taken_over import COPY
from kafka_dr.register.transitions import taking_over
from kafka_dr.runs.run import Run


def _says(run: Run) -> tuple[str]:
    return (f"write to the registers that this run takes over {run.group.name}; until it ends nobody else may",)


def _decided(run: Run) -> Mapping[str, Any]:
    context = TakeOverContext(run)
    return decision.facts(context, take_over_checks(context))


def _begun(run: Run, signed: dict[str, Any]) -> RegisterState:
    return taking_over(
        run.group.name,
        active=run.source,
        standby=run.target,
        before=run.register_state,
        copies_named=run.group.copies_named,
        **signed,
    )


def _copy(run: Run, answers: Sequence[Answer]) -> Mapping[str, Mapping[str, Any]]:
    """Return the copy as it was approved, if the audit is still the one that was approved."""
    audited = TakeOverContext(run).audited
    approved = (approved_facts(run, answers[0].digest) or {}).get("audit")
    if not approved or approved["sha256"] != audited.sha256:
        raise grounds_gone(run.group.name, run.request.run)
    return {COPY: audited.as_approved().to_json()}


def _write(run: Run, name: str, fact: Mapping[str, Any]) -> None:
    """Journal a fact of a group of which the registers may have no record."""
    for cluster in (run.source, run.target):
        run.clients.register(cluster).write_fact(run.group.name, run.request.run, name, fact)


def _win(run: Run, before: RegisterState | None, state: RegisterState) -> Mapping[str, Any]:
    if before is not None:
        run.clients.register(run.source).copy(before)
    return set_both(run, before, state)


CLAIM = ClaimStep(says=_says, decided=_decided, begun=_begun, facts=_copy, write=_write, win=_win)

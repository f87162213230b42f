"""The table of all verbs: what runs each step, what an approver is asked, how a run is abandoned, what it leaves.

What the registers and everything below need of a verb is in :data:`kafka_dr.runs.request.VERBS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kafka_dr.adoption import take_over, un_adopt
from kafka_dr.adoption.un_adopt.keep import keep
from kafka_dr.approvals.approval_sheet import Sheet
from kafka_dr.failback import abandon, catch_up, prepare_old_cluster, rescue, reverse_flow
from kafka_dr.failback import claim as failback_claim
from kafka_dr.failback import preflight as failback_preflight
from kafka_dr.failback import question as failback_question
from kafka_dr.failback import report as failback_report
from kafka_dr.failback import settle as failback_settle
from kafka_dr.failover.planned import (
    claim,
    cut_over_groups,
    drain,
    fence_source,
    flip_route,
    open_target,
    preflight,
    question,
    report,
    start_reverse_flow,
    stop_flow,
    verify,
)
from kafka_dr.failover.unplanned import claim as unplanned_claim
from kafka_dr.failover.unplanned import cut_over_groups as unplanned_cut_over
from kafka_dr.failover.unplanned import fence, gather_evidence, settle
from kafka_dr.failover.unplanned import open_target as unplanned_open
from kafka_dr.failover.unplanned import question as unplanned_question
from kafka_dr.failover.unplanned import report as unplanned_report
from kafka_dr.failover.unplanned import verify as unplanned_verify
from kafka_dr.register import Verb
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.runs.run import Run
from kafka_dr.verbs.roll_back import roll_back

Facts = Mapping[str, Any]


class Step(Protocol):
    """A step is a module or an object with these functions, often with ``check`` before and ``prove`` after them.

    Each can be run again at any time: it looks at the world, does what is missing, and proves again.
    ``check(run)`` asks whether the step may run, and changes nothing. Without it only the register decides that.
    ``prove(run)`` asks the clusters whether it worked. It never concludes that from what was sent. A step that changes
    nothing has no ``prove``. Both return a sequence of :class:`~kafka_dr.runs.record.Check`.
    """

    def intent(self, run: Run) -> Sequence[str]:
        """Say what ``act`` will do, in sentences."""
        ...

    def act(self, run: Run) -> Facts:
        """Do what is missing, and return the facts of it."""
        ...


class Question(Protocol):
    """What a person is asked, from the evidence of the verb's first step."""

    def sheet(self, run: Run, seen: Facts) -> Sheet:
        """Return what the approver is shown."""
        ...

    def costs(self, run: Run, facts: Facts) -> Iterable[str]:
        """Say in sentences what a real run would lose and cost.

        :param facts: of the first step
        """
        ...


@dataclass(frozen=True, slots=True)
class VerbParts:
    """What a verb is made of.

    :param steps: the steps that no person answers; for the others see :mod:`kafka_dr.verbs.ask_approval`
    :param abandon: ends a run that is not to be finished
    :param leaves: what a finished run leaves, after "with"; ``{active}`` and ``{group}`` are replaced
    """

    question: Question
    steps: Mapping[StepName, Step]
    abandon: Callable[[RunRequest, Clients], StepRecord] = roll_back
    leaves: str = "{active} active"


VERB_PARTS: Mapping[Verb, VerbParts] = {
    "planned_failover": VerbParts(
        question,
        {
            StepName.PREFLIGHT: preflight,
            StepName.CLAIM: claim.CLAIM,
            StepName.FENCE_SOURCE: fence_source,
            StepName.DRAIN: drain,
            StepName.STOP_FLOW: stop_flow,
            StepName.CUT_OVER_GROUPS: cut_over_groups,
            StepName.OPEN_TARGET: open_target,
            StepName.FLIP_ROUTE: flip_route,
            StepName.VERIFY: verify,
            StepName.START_REVERSE_FLOW: start_reverse_flow,
            StepName.REPORT: report.REPORT,
        },
    ),
    "unplanned_failover": VerbParts(
        unplanned_question,
        {
            StepName.GATHER_EVIDENCE: gather_evidence,
            StepName.CLAIM: unplanned_claim.CLAIM,
            StepName.FENCE: fence,
            StepName.CUT_OVER_GROUPS: unplanned_cut_over,
            StepName.OPEN_TARGET: unplanned_open,
            StepName.FLIP_ROUTE: flip_route,
            StepName.VERIFY: unplanned_verify,
            StepName.SETTLE: settle,
            StepName.REPORT: unplanned_report.REPORT,
        },
    ),
    "failback": VerbParts(
        failback_question,
        {
            StepName.PREFLIGHT: failback_preflight,
            StepName.CLAIM: failback_claim.CLAIM,
            StepName.RESCUE: rescue,
            StepName.PREPARE_OLD_CLUSTER: prepare_old_cluster,
            StepName.REVERSE_FLOW: reverse_flow,
            StepName.CATCH_UP: catch_up,
            StepName.SETTLE: failback_settle,
            StepName.REPORT: failback_report.REPORT,
        },
        abandon=abandon.abandon,
    ),
    "take_over": VerbParts(
        take_over.question,
        {
            StepName.PREFLIGHT: take_over.preflight,
            StepName.CLAIM: take_over.claim.CLAIM,
            StepName.STOP_EXISTING: take_over.stop_existing,
            StepName.VERIFY_TAIL: take_over.verify_tail,
            StepName.START_FLOW: take_over.start_flow,
            StepName.SETTLE: take_over.settle,
            StepName.REPORT: take_over.report.REPORT,
        },
    ),
    "un_adopt": VerbParts(
        un_adopt.question,
        {
            StepName.PREFLIGHT: un_adopt.preflight,
            StepName.CLAIM: un_adopt.claim.CLAIM,
            StepName.STOP_FLOW: un_adopt.leave.STOP_FLOW,
            StepName.HAND_BACK: un_adopt.leave.HAND_BACK,
            StepName.SETTLE: un_adopt.leave.SETTLE,
            StepName.REPORT: un_adopt.report.REPORT,
        },
        abandon=keep,
        leaves="{group} released",
    ),
}

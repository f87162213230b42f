"""What is asked for: a verb for a protection group, and the steps that the verb is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from kafka_dr.register import Phase, Verb

#: How the old cluster becomes a copy: its topics are deleted and copied again, or its stranded records are quarantined.
FailbackMode = Literal["rebuild", "quarantine"]
#: What copies the topics of a group that is released: what did before it was adopted, or this project's flow.
HandBackTo = Literal["existing", "own_flow"]
#: What happens to the stranded records; they are kept in any case.
RescueWish = Literal["keep", "republish"]


#: The verbs that move a group, or make it ready to be moved again; each asks a person first.
MOVES: tuple[Verb, ...] = ("planned_failover", "unplanned_failover", "failback")


class StepName(StrEnum):
    """The steps of the verbs; the names are the task ids in Airflow."""

    PREFLIGHT = "preflight"
    GATHER_EVIDENCE = "gather_evidence"
    APPROVAL = "approval"
    SECOND_APPROVAL = "second_approval"
    CLAIM = "claim"
    FENCE = "fence"
    FENCE_SOURCE = "fence_source"
    DRAIN = "drain"
    STOP_FLOW = "stop_flow"
    CUT_OVER_GROUPS = "cut_over_groups"
    OPEN_TARGET = "open_target"
    FLIP_ROUTE = "flip_route"
    VERIFY = "verify"
    START_REVERSE_FLOW = "start_reverse_flow"
    STOP_EXISTING = "stop_existing"
    VERIFY_TAIL = "verify_tail"
    START_FLOW = "start_flow"
    HAND_BACK = "hand_back"
    RESCUE = "rescue"
    PREPARE_OLD_CLUSTER = "prepare_old_cluster"
    REVERSE_FLOW = "reverse_flow"
    CATCH_UP = "catch_up"
    SETTLE = "settle"
    REPORT = "report"


@dataclass(frozen=True, slots=True)
class StepDefinition:
    """A step of a verb.

    :param number: from 1, in the order of the steps; evidence is numbered by it
    :param phases: the phases of the group, held by this run, in which the step may run; none for the steps up to
        the claim, which need a group that the verb may take: see :data:`TAKES`
    :param rolls_back: whether a failure of this step is undone by the roll back
    """

    name: StepName
    number: int
    title: str
    phases: tuple[Phase, ...] = ()
    rolls_back: bool = False

    @property
    def goes_forward(self) -> bool:
        """Whether a run can only be finished after it: it passes the point of no return, or comes after it."""
        return self.phases not in ((), _SWITCHING, _ADOPTING)


_SWITCHING = (Phase.SWITCHING,)
_HANDED_OVER = (Phase.HANDED_OVER,)
#: How a run ends that could not copy everything, and how one that could.
_LEFT_BEHIND = (Phase.UNFENCED, Phase.DIVERGED, Phase.STABLE)

PLANNED_FAILOVER: tuple[StepDefinition, ...] = (
    StepDefinition(StepName.PREFLIGHT, 1, "Find out whether a switch would be safe"),
    StepDefinition(StepName.APPROVAL, 2, "Ask a person"),
    StepDefinition(StepName.CLAIM, 3, "Take the group for this run", rolls_back=True),
    StepDefinition(StepName.FENCE_SOURCE, 4, "Stop writes on the source, provably", _SWITCHING, rolls_back=True),
    StepDefinition(
        StepName.DRAIN, 5, "Wait until everything is copied and freeze the consumer groups", _SWITCHING, rolls_back=True
    ),
    StepDefinition(StepName.STOP_FLOW, 6, "Stop replication, provably", _SWITCHING, rolls_back=True),
    StepDefinition(StepName.CUT_OVER_GROUPS, 7, "Set each group's offsets on the target", _SWITCHING, rolls_back=True),
    # After its own compare-and-set the target still has to be opened.
    StepDefinition(
        StepName.OPEN_TARGET, 8, "Hand over and open the target", (*_SWITCHING, *_HANDED_OVER), rolls_back=True
    ),
    StepDefinition(StepName.FLIP_ROUTE, 9, "Send the applications to the target", _HANDED_OVER),
    StepDefinition(StepName.VERIFY, 10, "Check that it works", _HANDED_OVER),
    # Once settled, one register may not hold the new record yet, or a reverse flow that did not start.
    StepDefinition(
        StepName.START_REVERSE_FLOW,
        11,
        "Settle the register, replicate back to the source",
        (*_HANDED_OVER, Phase.STABLE),
    ),
    StepDefinition(StepName.REPORT, 12, "Measure and seal the evidence", (Phase.STABLE,)),
)

UNPLANNED_FAILOVER: tuple[StepDefinition, ...] = (
    StepDefinition(StepName.GATHER_EVIDENCE, 1, "Find out whether the source is down, twice"),
    StepDefinition(StepName.APPROVAL, 2, "Ask a person"),
    StepDefinition(StepName.SECOND_APPROVAL, 3, "Ask another person, where the topology says so"),
    StepDefinition(StepName.CLAIM, 4, "Take the group for this run", rolls_back=True),
    StepDefinition(
        StepName.FENCE,
        5,
        "Stop replication, provably, and writes on the source if it answers",
        _SWITCHING,
        rolls_back=True,
    ),
    StepDefinition(StepName.CUT_OVER_GROUPS, 6, "Set each group's offsets on the target", _SWITCHING, rolls_back=True),
    StepDefinition(
        StepName.OPEN_TARGET, 7, "Hand over and open the target", (*_SWITCHING, *_HANDED_OVER), rolls_back=True
    ),
    StepDefinition(StepName.FLIP_ROUTE, 8, "Send the applications to the target", _HANDED_OVER),
    StepDefinition(StepName.VERIFY, 9, "Check that it works", _HANDED_OVER),
    StepDefinition(
        StepName.SETTLE, 10, "Record in the register how the old cluster was left", (*_HANDED_OVER, *_LEFT_BEHIND)
    ),
    StepDefinition(StepName.REPORT, 11, "Measure and seal the evidence", _LEFT_BEHIND),
)

_DIVERGED = (Phase.DIVERGED,)

FAILBACK: tuple[StepDefinition, ...] = (
    StepDefinition(StepName.PREFLIGHT, 1, "Check whether a failback is possible"),
    StepDefinition(StepName.APPROVAL, 2, "Ask a person"),
    StepDefinition(StepName.SECOND_APPROVAL, 3, "Ask another person, where data is deleted"),
    StepDefinition(StepName.CLAIM, 4, "Take the group for this run"),
    StepDefinition(StepName.RESCUE, 5, "Keep the stranded records, or publish them again", _DIVERGED),
    StepDefinition(StepName.PREPARE_OLD_CLUSTER, 6, "Prepare the old cluster for the copy", _DIVERGED),
    StepDefinition(StepName.REVERSE_FLOW, 7, "Replicate to the old cluster", _DIVERGED),
    StepDefinition(StepName.CATCH_UP, 8, "Wait until the copy has caught up", _DIVERGED),
    # Once settled, one register may not hold the new record yet.
    StepDefinition(StepName.SETTLE, 9, "Record that it is a copy again", (*_DIVERGED, Phase.STABLE)),
    StepDefinition(StepName.REPORT, 10, "Measure and seal the evidence", (Phase.STABLE,)),
)

_ADOPTING = (Phase.ADOPTING,)

TAKE_OVER: tuple[StepDefinition, ...] = (
    StepDefinition(StepName.PREFLIGHT, 1, "Find out whether the existing replication can be taken over"),
    StepDefinition(StepName.APPROVAL, 2, "Ask a person"),
    StepDefinition(StepName.CLAIM, 3, "Take the group for this run", rolls_back=True),
    StepDefinition(
        StepName.STOP_EXISTING,
        4,
        "Fence the standby, stop the existing replication, provably",
        _ADOPTING,
        rolls_back=True,
    ),
    StepDefinition(
        StepName.VERIFY_TAIL, 5, "Compare what was copied since the audit, to its end", _ADOPTING, rolls_back=True
    ),
    StepDefinition(StepName.START_FLOW, 6, "Start this project's flow where the copy ends", _ADOPTING, rolls_back=True),
    # After its own compare-and-set, one register may not hold the new record yet.
    StepDefinition(
        StepName.SETTLE,
        7,
        "Write the route, then record that the group is adopted",
        (*_ADOPTING, Phase.STABLE),
        rolls_back=True,
    ),
    StepDefinition(StepName.REPORT, 8, "Measure and seal the evidence", (Phase.STABLE,)),
)

_RELEASING = (Phase.RELEASING,)

UN_ADOPT: tuple[StepDefinition, ...] = (
    StepDefinition(StepName.PREFLIGHT, 1, "Find out whether the group can be released"),
    StepDefinition(StepName.APPROVAL, 2, "Ask a person"),
    StepDefinition(StepName.CLAIM, 3, "Take the group for this run"),
    StepDefinition(StepName.STOP_FLOW, 4, "Stop this project's flow, or leave it as it is", _RELEASING),
    StepDefinition(StepName.HAND_BACK, 5, "Hand back to the existing replication, lift every fence", _RELEASING),
    # Once settled, one register may not hold the new record yet.
    StepDefinition(StepName.SETTLE, 6, "Close the register", (*_RELEASING, Phase.RELEASED)),
    StepDefinition(StepName.REPORT, 7, "Seal the evidence", (Phase.RELEASED,)),
)

#: The verbs as lists of steps.
VERBS: Mapping[Verb, tuple[StepDefinition, ...]] = {
    "planned_failover": PLANNED_FAILOVER,
    "unplanned_failover": UNPLANNED_FAILOVER,
    "failback": FAILBACK,
    "take_over": TAKE_OVER,
    "un_adopt": UN_ADOPT,
}
#: The phases from which a verb may take a group: an unplanned failover also from a run that died with its source. A
#: take over also takes one of which no register has a record.
TAKES: Mapping[Verb, tuple[Phase, ...]] = {
    "planned_failover": (Phase.STABLE,),
    "unplanned_failover": (Phase.STABLE, Phase.SWITCHING),
    "failback": (Phase.DIVERGED,),
    "take_over": (Phase.RELEASED,),
    "un_adopt": (Phase.STABLE,),
}
#: The phase in which a verb holds a group right after its claim.
CLAIMED: Mapping[Verb, Phase] = {
    "planned_failover": Phase.SWITCHING,
    "unplanned_failover": Phase.SWITCHING,
    "failback": Phase.DIVERGED,
    "take_over": Phase.ADOPTING,
    "un_adopt": Phase.RELEASING,
}
#: Verbs that move no application: the active cluster is the source before and after them.
STAY: frozenset[Verb] = frozenset({"failback", "take_over", "un_adopt"})

#: The last step that one process runs together with the claim.
_SWITCH_ENDS: Mapping[Verb, StepName] = {
    "planned_failover": StepName.FLIP_ROUTE,
    "unplanned_failover": StepName.FLIP_ROUTE,
    "take_over": StepName.SETTLE,
}
#: Evidence of what is no step of a verb is numbered from here on.
ROLL_BACK_NUMBER = 90
RESUME_NUMBER = 91


def definition(step: StepName, verb: Verb = "planned_failover") -> StepDefinition:
    """Return a step of a verb."""
    return next(found for found in VERBS[verb] if found.name is step)


def switch_steps(verb: Verb) -> tuple[StepName, ...]:
    """Return the steps that one process runs in order, from the claim on; none for a verb that nobody waits for.

    While they run a person can only wait: see :mod:`kafka_dr.verbs.switch`. A failover ends there with the flipped
    route; a take over with the record that the group is adopted, as nothing protects the group meanwhile.
    """
    if verb not in _SWITCH_ENDS:
        return ()
    names = [step.name for step in VERBS[verb]]
    return tuple(names[names.index(StepName.CLAIM) : names.index(_SWITCH_ENDS[verb]) + 1])


def phases_of(verb: Verb) -> frozenset[Phase]:
    """Return the phases that a group can be in while a run of a verb holds it."""
    return frozenset(phase for step in VERBS[verb] for phase in step.phases)


def steps_without_approvals(verb: Verb) -> tuple[StepName, ...]:
    """Return the steps of a verb that ask no person, in order: those of a dry run."""
    asks = (StepName.APPROVAL, StepName.SECOND_APPROVAL)
    return tuple(step.name for step in VERBS[verb] if step.name not in asks)


def first_step(verb: Verb) -> StepName:
    """Return the step whose evidence is what a person approves."""
    return VERBS[verb][0].name


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What somebody asked for when triggering a run.

    :param run: the run's id, Airflow's ``run_id``; unique for each group
    :param source: where the group is believed to be active; the register's answer where ``None``
    :param target: where it is to go; the register's standby where ``None``
    :param dry_run: check everything, change nothing
    :param override: why the source is given up although the rule does not hold; kept in the evidence
    :param acknowledged: the person knows that the group was failed over a short while ago
    :param mode: of a failback: how the old cluster becomes a copy
    :param rescue: of a failback: what happens to the stranded records
    :param hand_back_to: of a release: what copies the topics after it
    :param requester: the name of the person who triggered the run; empty where no person did
    """

    protection_group: str
    run: str
    source: str | None = None
    target: str | None = None
    dry_run: bool = False
    reason: str = ""
    verb: Verb = "planned_failover"
    override: str = ""
    acknowledged: bool = False
    mode: FailbackMode = "quarantine"
    rescue: RescueWish = "keep"
    hand_back_to: HandBackTo = "existing"
    requester: str = ""


@dataclass(frozen=True, slots=True)
class ResumeRequest:
    """What to do with a run that died.

    :param run: the run that died; whatever run holds the group where ``None``
    :param requester: the name of the person who asks for it
    :param confirmed: a person made sure that it is dead, although it showed life a short while ago
    """

    protection_group: str
    decision: Literal["finish", "abandon"]
    run: str | None = None
    reason: str = ""
    requester: str = ""
    confirmed: bool = False

"""What is asked for: a verb for a protection group, and the steps that the verb is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from kafka_dr.errors import Refused
from kafka_dr.register import Phase, RegisterState, Verb
from kafka_dr.register.roles import Role
from kafka_dr.topology.readers import BeginPositions

#: How the old cluster becomes a copy: its topics are deleted and copied again, or its stranded records are quarantined.
FailbackMode = Literal["rebuild", "quarantine"]
#: What copies the topics of a group that is released: what did before it was adopted, or this project's flow.
HandBackTo = Literal["existing", "own_flow"]
#: What happens to the stranded records; they are kept in any case.
RescueWish = Literal["keep", "republish"]
#: What becomes of records that arrive late in copies with other names: as declared of each topic, or one for all.
LateWish = Literal["declared", "deliver", "stranded_topic", "hold"]


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
        the claim, which need a group that the verb may take
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
#: A group from which one standby has left is stable.
_LEFT = (Phase.RELEASED, Phase.STABLE)

UN_ADOPT: tuple[StepDefinition, ...] = (
    StepDefinition(StepName.PREFLIGHT, 1, "Find out whether the group can be released"),
    StepDefinition(StepName.APPROVAL, 2, "Ask a person"),
    StepDefinition(StepName.CLAIM, 3, "Take the group for this run"),
    StepDefinition(StepName.STOP_FLOW, 4, "Stop this project's flow, or leave it as it is", _RELEASING),
    StepDefinition(StepName.HAND_BACK, 5, "Hand back to the existing replication, lift every fence", _RELEASING),
    # Once settled, one register may not hold the new record yet.
    StepDefinition(StepName.SETTLE, 6, "Close the register", (*_RELEASING, *_LEFT)),
    StepDefinition(StepName.REPORT, 7, "Seal the evidence", _LEFT),
)


@dataclass(frozen=True, slots=True)
class VerbRules:
    """What a verb is to the registers, and to everything that does not run its steps.

    :param takes: the phases from which it may take a group
    :param repairs: the role of a standby that it makes a copy again, in whatever phase the group is; ``None``: it
        concerns standbys that are copies
    :param claimed: the phase in which it holds a group right after its claim
    :param takes_all: whether it concerns all standbys alike, so that none has to be named
    :param moves: whether it moves a group, or makes it ready to be moved again
    :param stays: whether it moves no application: the active cluster is the source before and after it
    :param switch_ends: the last step that one process runs together with the claim; ``None`` if nobody waits for it
    :param from_nothing: whether it also takes a group of which no register has a record
    :param source_may_be_dead: whether it continues without its source: then the target's register decides
    :param passes_diverged: whether it also takes a group while another standby is diverged, which stays that
    """

    steps: tuple[StepDefinition, ...]
    takes: tuple[Phase, ...]
    claimed: Phase
    repairs: Role | None = None
    takes_all: bool = False
    moves: bool = False
    stays: bool = False
    switch_ends: StepName | None = None
    from_nothing: bool = False
    source_may_be_dead: bool = False
    passes_diverged: bool = False

    def may_take(self, state: RegisterState) -> bool:
        """Return whether it may take a group: without its source, too, while an old cluster is no copy yet."""
        if self.repairs is not None:
            return not state.is_held and bool(self.standbys_for(state))
        left_alone = self.passes_diverged and state.is_at_rest_and_fenced
        return state.phase in self.takes or left_alone or (self.source_may_be_dead and state.is_at_rest)

    def standbys_for(self, state: RegisterState) -> tuple[str, ...]:
        """Return the standbys that a run of it may concern, by what each of them is."""
        wanted = self.repairs or Role.COPY
        return tuple(name for name in state.standbys if state.roles.of(name) is wanted)

    def only_standby(self, state: RegisterState) -> str:
        """Return the standby that a run concerns which was asked for none: the only one, or the only one to repair.

        :raises Refused: there are several, or none of several has to be repaired
        """
        if not state.has_several:
            return state.standby
        found = self.standbys_for(state)
        if self.takes_all and found:
            return found[0]
        named = ", ".join(found) or "none now"
        if self.repairs is None:
            raise Refused(
                f"{state.group} has several standbys: name the target, one of those that hold a copy ({named})"
            )
        if len(found) != 1:
            raise Refused(
                f"the clusters of {state.group} are {state.roles}: name the target, one that is {self.repairs} "
                f"({named})"
            )
        return found[0]

    @property
    def phases(self) -> frozenset[Phase]:
        """The phases that a group can be in while a run of the verb holds it."""
        return frozenset(phase for step in self.steps for phase in step.phases)

    @property
    def from_claim(self) -> tuple[StepName, ...]:
        """The steps that a run needs after it was approved, the claim first."""
        names = [step.name for step in self.steps]
        return tuple(names[names.index(StepName.CLAIM) :])


VERBS: Mapping[Verb, VerbRules] = {
    "planned_failover": VerbRules(
        PLANNED_FAILOVER,
        (Phase.STABLE,),
        Phase.SWITCHING,
        moves=True,
        switch_ends=StepName.FLIP_ROUTE,
        passes_diverged=True,
    ),
    # It also takes a group from a run that died with its source.
    "unplanned_failover": VerbRules(
        UNPLANNED_FAILOVER,
        (Phase.STABLE, Phase.SWITCHING),
        Phase.SWITCHING,
        moves=True,
        switch_ends=StepName.FLIP_ROUTE,
        source_may_be_dead=True,
    ),
    "failback": VerbRules(FAILBACK, (), Phase.DIVERGED, repairs=Role.DIVERGED, moves=True, stays=True),
    "take_over": VerbRules(
        TAKE_OVER, (Phase.RELEASED,), Phase.ADOPTING, stays=True, switch_ends=StepName.SETTLE, from_nothing=True
    ),
    # One standby may leave while it is no copy: the transition refuses to release the whole group then.
    "un_adopt": VerbRules(
        UN_ADOPT,
        (Phase.STABLE, Phase.UNFENCED, Phase.DIVERGED),
        Phase.RELEASING,
        takes_all=True,
        stays=True,
    ),
}
#: The verbs that move a group, or make it ready to be moved again; each asks a person first.
MOVES = frozenset(verb for verb, rules in VERBS.items() if rules.moves)
#: Verbs that move no application.
STAY = frozenset(verb for verb, rules in VERBS.items() if rules.stays)

#: Evidence of what is no step of a verb is numbered from here on.
ROLL_BACK_NUMBER = 90
RESUME_NUMBER = 91


def definition(step: StepName, verb: Verb = "planned_failover") -> StepDefinition:
    """Return a step of a verb."""
    return next(found for found in VERBS[verb].steps if found.name is step)


def switch_steps(verb: Verb) -> tuple[StepName, ...]:
    """Return the steps that one process runs in order, from the claim on; none for a verb that nobody waits for.

    While they run a person can only wait: see :mod:`kafka_dr.verbs.switch`. A failover ends there with the flipped
    route; a take over with the record that the group is adopted, as nothing protects the group meanwhile.
    """
    names, last = VERBS[verb].from_claim, VERBS[verb].switch_ends
    return names[: names.index(last) + 1] if last else ()


def steps_without_approvals(verb: Verb) -> tuple[StepName, ...]:
    """Return the steps of a verb that ask no person, in order: those of a dry run."""
    asks = (StepName.APPROVAL, StepName.SECOND_APPROVAL)
    return tuple(step.name for step in VERBS[verb].steps if step.name not in asks)


def first_step(verb: Verb) -> StepName:
    """Return the step whose evidence is what a person approves."""
    return VERBS[verb].steps[0].name


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What somebody asked for when triggering a run.

    :param run: the run's id, Airflow's ``run_id``; unique for each group
    :param source: where the group is believed to be active; the register's answer where ``None``
    :param target: where it is to go; of a failback the cluster that becomes a copy again; the register's standby
        where ``None``
    :param dry_run: check everything, change nothing
    :param override: why the source is given up although the rule does not hold; kept in the evidence
    :param acknowledged: the person knows that the group was failed over a short while ago
    :param mode: of a failback: how the old cluster becomes a copy
    :param rescue: of a failback: what happens to the stranded records
    :param late: of a failback: what becomes of late records, where copies have other names
    :param hand_back_to: of a release: what copies the topics after it
    :param leaves: of a release: only the target leaves the group, which stays adopted
    :param begin_at: of a failover: the time at whose first record consumer groups begin; aware. ``None``: nobody
        chose one
    :param begin_positions: which of their positions begin there
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
    late: LateWish = "declared"
    hand_back_to: HandBackTo = "existing"
    leaves: bool = False
    begin_at: datetime | None = None
    begin_positions: BeginPositions = "unknown"
    requester: str = ""

    def start_to_json(self) -> dict[str, Any]:
        """Return the start that was chosen for consumer groups, for the decision and the claim; empty if none was."""
        if self.begin_at is None:
            return {}
        return {"begin_at": self.begin_at.isoformat(), "begin_positions": self.begin_positions}


def chosen_from_json(claim: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request that hold the chosen start, or that one standby leaves, as its claim journaled."""
    if "begin_at" not in claim:
        return {"leaves": True} if claim.get("leaves") else {}
    return {"begin_at": datetime.fromisoformat(claim["begin_at"]), "begin_positions": claim["begin_positions"]}


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

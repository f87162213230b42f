"""What to do by hand, with Kafka's own tools, when no program of this project runs: commands for one group and state.

The order is that of the runs: nobody is let in before the other cluster refuses writes and the register says who is
active, and a DENY is recorded before it is added. Nothing compares and sets by hand, so nothing else may change the
group at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kafka_dr.command_line.by_hand_facts import ByHandFacts
from kafka_dr.command_line.hand_steps import HandStep, HandSteps
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.transitions import claimed_unplanned, handed_over, rolled_back, without_source

_BY_HAND = "by hand"


@dataclass(frozen=True, slots=True)
class Procedure:
    """One way out of a state.

    :param name: ``move``, ``go_back``, ``finish`` or ``fence``
    :param when: in which case it is the right one
    """

    name: str
    title: str
    when: str
    steps: tuple[HandStep, ...]


def procedures(facts: ByHandFacts, now: datetime) -> tuple[Procedure, ...]:
    """Return what can be done by hand in the state that the register shows.

    :param now: aware
    """
    state = facts.state
    match state.phase:
        case Phase.SWITCHING:
            return (_go_back(facts, now), _move(facts, state.standby, now))
        case Phase.HANDED_OVER:
            return (_finish(facts),)
        case Phase.ADOPTING | Phase.RELEASING | Phase.RELEASED:
            # Nothing is fenced by the record, and nobody has verified the copy: there is nothing to move safely.
            return ()
        case _:
            moves = (_move(facts, target, now) for target in state.steady_copies)
            return (*moves, *(_fence_old(facts, cluster) for cluster in state.roles.given_up))


def _move(facts: ByHandFacts, target: str, now: datetime) -> Procedure:
    source, after = facts.state.active, _moved(facts.state, target, now)
    hand = HandSteps(facts, after, target)
    steps = (
        hand.fence(source),
        hand.wait_for_copy(),
        hand.stop_flow(),
        *hand.set_offsets(now),
        hand.hand_over(),
        hand.record(source),
        *_told(hand, facts.state, target),
        *hand.let_in(target),
        hand.check(),
    )
    when = (
        f"{source} is lost, or has to be left, and no command of this project works. If {source} does not answer, be "
        "sure that no application reaches it: nothing by hand can keep them out. Afterwards it is not a copy: "
        "dr_health fences it again as soon as it can, and dr_failback makes it a copy"
    )
    if others := _others(facts.state, target):
        when += f". {' and '.join(others)} {'stays' if len(others) == 1 else 'stay'} closed, and dr_flows copies there"
    return Procedure("move", f"move {facts.group.name} from {source} to {target}", when, steps)


def _others(state: RegisterState, target: str) -> list[str]:
    """Return the standbys that a move to another one does not concern."""
    return [name for name in state.standbys if name != target]


def _told(hand: HandSteps, state: RegisterState, target: str) -> tuple[HandStep, ...]:
    """Return the steps for all other registers: more than half of several hold it before a cluster is opened."""
    return tuple(hand.record(name) for name in _others(state, target))


def _moved(state: RegisterState, target: str, now: datetime) -> RegisterState:
    """Return the record of a group that was moved by hand: as after an unplanned failover without its source."""
    run = f"by-hand-{now:%Y%m%dT%H%M%SZ}"
    claimed = claimed_unplanned(
        state,
        run=run,
        source=state.active,
        target=target,
        highest_epoch=state.epoch,
        evidence_sha256="",
        approved_by=_BY_HAND,
        at=now,
    )
    return without_source(handed_over(claimed, run=run, at=now), run=run, fenced=False, at=now)


def _go_back(facts: ByHandFacts, now: datetime) -> Procedure:
    state = facts.state
    source, target = state.active, state.standby
    hand = HandSteps(facts, rolled_back(state, run=state.run, at=now, executor=_BY_HAND), target)
    steps = (
        hand.fence(target),
        hand.record(source),
        hand.record(target),
        *_told(hand, state, target),
        hand.open(source),
        hand.start_flow(),
        hand.check(),
    )
    title = f"roll run {state.run} back: {facts.group.name} stays on {source}"
    return Procedure("go_back", title, f"{source} answers", steps)


def _finish(facts: ByHandFacts) -> Procedure:
    state = facts.state
    hand = HandSteps(facts, state, state.standby)
    when = (
        f"run {state.run} is past its point of no return, so only {state.active} may be opened. Afterwards finish the "
        "run with resume: that starts the flow back, and seals the evidence"
    )
    told = _told(hand, state, state.standby)
    steps = (hand.fence(state.standby), *told, *hand.let_in(state.active), hand.look(), hand.check())
    return Procedure("finish", f"let the applications in on {state.active}", when, steps)


def _fence_old(facts: ByHandFacts, cluster: str) -> Procedure:
    hand = HandSteps(facts, facts.state, cluster)
    when = f"{cluster} answers again, and dr_health does not run"
    title = f"keep applications out of {cluster}, the old cluster"
    steps = (hand.fence(cluster), hand.keep_records(cluster), hand.look(), hand.check())
    return Procedure("fence", title, when, steps)

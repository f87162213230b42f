"""The moves that a group's register record can make. Pure: each takes the record that is and returns the next.

::

    (none) ── adopted ──▶ stable ── claimed ──▶ switching ── handed_over ──▶ handed_over ── settled ──▶ stable
                            ▲   claimed_unplanned   │                            │                        ▲
                            └───── rolled_back ─────┘                    left_behind                failed_back
                                                                                 ▼                        │
                                                               unfenced ── fenced_on_return ──▶ diverged ─┘
                                                                                      failback_begun ↺
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from kafka_dr.errors import Refused
from kafka_dr.register.state import Phase, RegisterState, Verb

#: Unplanned runs count by this, planned ones by one.
UNPLANNED_EPOCHS = 1000


def way_out(state: RegisterState) -> str:
    """Say what has to happen before another run may take a group that is not stable."""
    if state.phase in (Phase.UNFENCED, Phase.DIVERGED):
        return "the side that was left has to be brought back by a failback first"
    return "wait until that run ends, or finish or abandon it with dr_resume"


def adopted(group: str, *, active: str, standby: str, run: str, at: datetime) -> RegisterState:
    """Return the first record of a group: epoch 1."""
    return RegisterState(group, 1, 0, Phase.STABLE, active, standby, "adopt", run, at)


def claimed(
    state: RegisterState,
    *,
    run: str,
    verb: Verb,
    source: str,
    target: str,
    highest_epoch: int,
    evidence_sha256: str,
    approved_by: str,
    at: datetime,
) -> RegisterState:
    """Return the record by which a run takes a group for itself.

    :param highest_epoch: the highest epoch that any cluster's register holds for the group
    :raises Refused: the group is not stable, or stands otherwise than the run believes
    """
    return replace(
        _taken(state, out_of=(Phase.STABLE,), source=source, target=target),
        epoch=max(state.epoch, highest_epoch) + 1,
        verb=verb,
        run=run,
        evidence_sha256=evidence_sha256,
        approved_by=approved_by,
        at=at,
    )


def claimed_unplanned(
    state: RegisterState,
    *,
    run: str,
    source: str,
    target: str,
    highest_epoch: int,
    evidence_sha256: str,
    approved_by: str,
    at: datetime,
) -> RegisterState:
    """Return the record by which an unplanned failover takes a group, also from a run that died while switching.

    The epoch is the next multiple of :data:`UNPLANNED_EPOCHS`, so that a planned run that is cut off with the source
    and counts on by ones can never reach it.

    :param highest_epoch: the highest epoch that any register that answers holds for the group
    :raises Refused: the group is past a hand-over that is not settled, or stands otherwise than the run believes
    """
    return replace(
        _taken(state, out_of=(Phase.STABLE, Phase.SWITCHING), source=source, target=target),
        epoch=(max(state.epoch, highest_epoch) // UNPLANNED_EPOCHS + 1) * UNPLANNED_EPOCHS,
        verb="unplanned_failover",
        run=run,
        evidence_sha256=evidence_sha256,
        approved_by=approved_by,
        at=at,
    )


def handed_over(state: RegisterState, *, run: str, at: datetime) -> RegisterState:
    """Return the record that is the point of no return: the standby is the active cluster from here on."""
    _owned(state, run, Phase.SWITCHING)
    return replace(
        state,
        revision=state.revision + 1,
        phase=Phase.HANDED_OVER,
        active=state.standby,
        standby=state.active,
        at=at,
    )


def settled(state: RegisterState, *, run: str, at: datetime) -> RegisterState:
    """Return the record that ends a run that went through."""
    _owned(state, run, Phase.HANDED_OVER)
    return replace(state, revision=state.revision + 1, phase=Phase.STABLE, at=at)


def left_behind(state: RegisterState, *, run: str, fenced: bool, at: datetime) -> RegisterState:
    """Return the record that ends a run that could not bring everything across.

    :param fenced: whether the side that was left is proven to refuse writes
    """
    _owned(state, run, Phase.HANDED_OVER)
    phase = Phase.DIVERGED if fenced else Phase.UNFENCED
    return replace(state, revision=state.revision + 1, phase=phase, at=at)


def fenced_on_return(state: RegisterState, *, at: datetime) -> RegisterState:
    """Return the record that says that the side that was left is back and proven to refuse writes.

    :raises Refused: the group is not unfenced
    """
    if state.phase is not Phase.UNFENCED:
        raise Refused(f"{state.group} is {state.phase} (epoch {state.epoch}), not unfenced: nothing returned")
    return replace(state, revision=state.revision + 1, phase=Phase.DIVERGED, at=at)


def failback_begun(
    state: RegisterState, *, run: str, evidence_sha256: str, approved_by: str, at: datetime
) -> RegisterState:
    """Return the record by which a failback takes a diverged group for itself.

    The epoch rises, as with every claim: the flow that it seeds is told from the one that the unplanned run held back.

    :raises Refused: the group is not diverged, or another failback has it
    """
    if state.phase is not Phase.DIVERGED:
        raise Refused(
            f"{state.group} is {state.phase} by run {state.run} (epoch {state.epoch}), not diverged: "
            "a failback begins when the side that was left is back and fenced"
        )
    if state.verb == "failback" and state.run != run:
        raise Refused(f"failback {state.run} has {state.group}: finish or abandon that one with dr_resume")
    return replace(
        state,
        epoch=state.epoch + 1,
        revision=0,
        verb="failback",
        run=run,
        evidence_sha256=evidence_sha256,
        approved_by=approved_by,
        at=at,
    )


def failed_back(state: RegisterState, *, run: str, quarantine: tuple[str, ...], at: datetime) -> RegisterState:
    """Return the record that ends a failback: the standby is a copy again, apart from what stays aside.

    :param quarantine: the ranges of the standby's log that stay aside
    """
    if state.verb != "failback":
        raise Refused(f"{state.group} is {state.phase} by {state.verb} {state.run}: no failback has it")
    _owned(state, run, Phase.DIVERGED)
    return replace(state, revision=state.revision + 1, phase=Phase.STABLE, quarantine=quarantine, at=at)


def failback_abandoned(state: RegisterState, *, run: str, at: datetime) -> RegisterState:
    """Return the record by which a failback lets go of a group, which stays diverged.

    The epoch rises, so that a step of the failback that still lives somewhere finds that the group is not its own.
    """
    if state.verb != "failback":
        raise Refused(f"{state.group} is {state.phase} by {state.verb} {state.run}: no failback has it")
    _owned(state, run, Phase.DIVERGED)
    return replace(state, epoch=state.epoch + 1, revision=0, verb="roll_back", at=at)


def rolled_back(state: RegisterState, *, run: str, at: datetime) -> RegisterState:
    """Return the record that ends a run before its point of no return.

    The epoch rises, so that a step of the run that still lives somewhere finds that the group is no longer its own.
    """
    _owned(state, run, Phase.SWITCHING)
    return replace(state, epoch=state.epoch + 1, revision=0, phase=Phase.STABLE, verb="roll_back", at=at)


def _taken(state: RegisterState, *, out_of: Collection[Phase], source: str, target: str) -> RegisterState:
    """Return the record of a group that begins to switch, if it stands as the run believes.

    :param out_of: the phases in which it may be taken
    """
    if state.phase not in out_of:
        raise Refused(f"{state.group} is {state.phase} by run {state.run} (epoch {state.epoch}): {way_out(state)}")
    if state.active != source:
        raise Refused(f"{state.group} is active on {state.active}, not on {source}: trigger the run from there")
    if source == target:
        raise Refused(f"{state.group} is active on {target} already: name another target")
    return replace(state, revision=0, phase=Phase.SWITCHING, standby=target)


def _owned(state: RegisterState, run: str, phase: Phase) -> None:
    if state.run != run or state.phase is not phase:
        raise Refused(
            f"{state.group} is {state.phase} by run {state.run} (epoch {state.epoch}), "
            f"not {phase} by run {run}: this run may not change it"
        )

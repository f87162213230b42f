"""The transitions by which a group gets a further standby, and by which one leaves. Pure, as those of the verbs.

::

    stable ── joined ──▶ stable                       unheld ── leaving ──▶ releasing ── left ──▶ stable
                                                                             releasing ── stayed ──▶ as before

One cluster at a time, so that each majority of the clusters before shares a register with each majority after it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from kafka_dr.errors import Refused
from kafka_dr.register.roles import Role
from kafka_dr.register.state import Phase, RegisterState, phase_at_rest
from kafka_dr.register.transitions import begun, copy_again, taken, way_out


def joined(state: RegisterState, standby: str) -> RegisterState:
    """Return the record of a group that gets a further standby, which waits for a flow.

    Nothing else about the group changes: the record is still that of its last run, and that of a pair names the standby
    that this run concerned.

    :raises Refused: the group is not stable, or has that cluster already
    """
    if state.phase is not Phase.STABLE:
        raise Refused(f"{state.group} is {state.phase} by run {state.run} (epoch {state.epoch}): {way_out(state)}")
    if (role := state.roles.of(standby)) is not None:
        raise Refused(f"{standby} is {role} of {state.group} already")
    partner = state.partner if state.has_several or state.verb == "adopt" else state.standby
    roles = state.roles.changed({standby: Role.PENDING})
    gone = tuple(name for name in state.gone if name != standby)
    return replace(state, revision=state.revision + 1, roles=roles, partner=partner, gone=gone)


def why_it_stays(state: RegisterState, standby: str) -> str:
    """Return why a cluster cannot leave a group; empty if it can."""
    if state.roles.of(standby) in (None, Role.ACTIVE):
        others = " and ".join(state.standbys)
        return f"{standby} is {state.roles.of(standby) or 'none of the clusters'} of {state.group}: choose {others}"
    left = state.roles.without(standby) if state.has_several else None
    if left is None or not left.copies:
        return (
            f"without {standby} no standby of {state.group} holds the copy ({state.roles}): wait until another one "
            "does, or release the whole group"
        )
    if phase_at_rest(left) is not Phase.STABLE:
        return f"another standby of {state.group} is no copy ({state.roles}): {copy_again(replace(state, roles=left))}"
    return ""


def leaving(
    state: RegisterState, *, standby: str, run: str, evidence_sha256: str, approved_by: str, at: datetime
) -> RegisterState:
    """Return the record with which a run takes a group to let one standby leave it, whatever that standby is.

    It keeps its role until it has left: a run that is abandoned changes nothing.

    :raises Refused: a run holds the group, or that cluster cannot leave
    """
    if state.is_held or not state.is_adopted:
        raise Refused(f"{state.group} is {state.phase} by run {state.run} (epoch {state.epoch}): {way_out(state)}")
    if why := why_it_stays(state, standby):
        raise Refused(why)
    return replace(
        state,
        phase=Phase.RELEASING,
        partner=standby,
        based_on=(0, 0),
        **begun(state, "un_adopt", run=run, evidence_sha256=evidence_sha256, approved_by=approved_by, at=at),
    )


def left(state: RegisterState, *, run: str, opened: bool, at: datetime) -> RegisterState:
    """Return the record that does not name the standby any more that has left.

    :param opened: whether its fences are lifted; else it is fenced wherever a topology still declares it
    """
    _held(state, run)
    roles = state.roles.without(state.partner)
    gone = (*state.gone, state.partner) if opened else state.gone
    partner = roles.copies[0] if roles.has_several else ""
    phase = phase_at_rest(roles)
    return replace(state, phase=phase, roles=roles, partner=partner, gone=gone, revision=state.revision + 1, at=at)


def stayed(state: RegisterState, *, run: str, at: datetime, executor: str = "") -> RegisterState:
    """Return the record of a group that no standby leaves, because the run is abandoned.

    :param executor: the process that abandons it
    """
    _held(state, run)
    state = taken(state, run=run, executor=executor, at=at)
    phase = phase_at_rest(state.roles)
    return replace(state, phase=phase, epoch=state.epoch + 1, revision=0, verb="roll_back", at=at)


def _held(state: RegisterState, run: str) -> None:
    if state.run != run or state.phase is not Phase.RELEASING or not state.has_several:
        raise Refused(f"{state.group} is {state.phase} by run {state.run} (epoch {state.epoch}), not by run {run}")

"""The transitions of a group's register record. Pure functions: each takes the current record and returns the next.

::

    (none) ── adopted ──▶ stable ── claimed ──▶ switching ── handed_over ──▶ handed_over ── settled ──▶ stable
                            ▲   claimed_unplanned   │                            │                        ▲
                            └───── rolled_back ─────┘                   without_source             failed_back
                                                                                 ▼                        │
                                                               unfenced ── fenced_on_return ──▶ diverged ─┘
                                                                                      failback_begun ↺

    (none), released ── taking_over ──▶ adopting ── taken_over ──▶ stable ── releasing ──▶ releasing
    (none), released ── adopted ──▶ stable            adopting ── given_back ──▶ released
    releasing ── released ──▶ released                releasing ── kept ──▶ stable

Of several standbys this is what a run does to the one that it concerns. Between two runs the phase is that of the
standby that is worst off.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from kafka_dr.errors import Refused
from kafka_dr.register.roles import Role, Roles
from kafka_dr.register.state import HOLDING, UNPLANNED_EPOCHS, Phase, RegisterState, Verb, phase_at_rest, roles_in

#: A claim takes the group for a run, and no process has taken the run yet. Two attempts of a claim write one record.
_NO_ATTEMPT: Mapping[str, Any] = {"attempt": 0, "executor": "", "attempt_at": None}


def begun(
    state: RegisterState, verb: Verb, *, run: str, evidence_sha256: str, approved_by: str, at: datetime
) -> Mapping[str, Any]:
    """Return the fields with which a run begins that takes the next epoch, whatever the group is meanwhile."""
    return {
        "epoch": state.epoch + 1,
        "revision": 0,
        "verb": verb,
        "run": run,
        "evidence_sha256": evidence_sha256,
        "approved_by": approved_by,
        "at": at,
        **_NO_ATTEMPT,
    }


def way_out(state: RegisterState) -> str:
    """Return what has to happen before another run may claim a group that is not stable."""
    if state.is_failing_back:
        return "wait until that failback ends, or finish or abandon it with dr_resume"
    if state.phase in (Phase.UNFENCED, Phase.DIVERGED) and state.has_several:
        moves = "a failover to a copy" if state.is_at_rest_and_fenced else "an unplanned failover"
        return f"only {moves} may move it; {copy_again(state)}"
    if state.phase in (Phase.UNFENCED, Phase.DIVERGED):
        return f"{state.moved_with} has to become a standby again: run a failback first"
    if state.phase is Phase.RELEASED:
        return "it is not adopted: run dr_adopt first"
    return "wait until that run ends, or finish or abandon it with dr_resume"


def copy_again(state: RegisterState) -> str:
    """Return what makes each cluster a copy again that may hold records which the active cluster lacks."""
    left = state.roles.given_up or (state.moved_with,)
    if len(left) == 1:
        return f"make {left[0]} a copy again with dr_failback"
    return f"make {' and '.join(left)} copies again with dr_failback, one after the other"


def adopted(
    group: str,
    *,
    active: str,
    standbys: Collection[str],
    run: str,
    at: datetime,
    before: RegisterState | None = None,
    copies_named: str = "",
) -> RegisterState:
    """Return the first record of a group: epoch 1, or the next one of a group that was released.

    :param before: the record that the registers hold; ``None`` if there is none
    :param copies_named: see :class:`RegisterState`
    """
    roles = Roles(((active, Role.ACTIVE), *((name, Role.COPY) for name in standbys)))
    first = RegisterState(group, _next_epoch(before, group), 0, Phase.STABLE, roles, "adopt", run, at)
    return replace(first, copies_named=copies_named)


def taking_over(
    group: str,
    *,
    active: str,
    standby: str,
    run: str,
    evidence_sha256: str,
    approved_by: str,
    at: datetime,
    before: RegisterState | None = None,
    copies_named: str = "",
) -> RegisterState:
    """Return the record with which a run takes a group that is not adopted, to take over its existing replication.

    :param before: the record that the registers hold; ``None`` if there is none
    :param copies_named: see :class:`RegisterState`
    :raises Refused: the group is adopted, or another run takes it over
    """
    return RegisterState(
        group,
        _next_epoch(before, group),
        0,
        Phase.ADOPTING,
        roles_in(Phase.ADOPTING, active=active, standby=standby),
        "take_over",
        run,
        at,
        evidence_sha256=evidence_sha256,
        approved_by=approved_by,
        copies_named=copies_named,
    )


def taken_over(state: RegisterState, *, run: str, at: datetime) -> RegisterState:
    """Return the record that ends a take over: the group is adopted."""
    _owned(state, run, Phase.ADOPTING)
    return state.in_phase(Phase.STABLE, revision=state.revision + 1, at=at)


def given_back(state: RegisterState, *, run: str, at: datetime, executor: str = "") -> RegisterState:
    """Return the record that ends a take over before the group is adopted: what was there is restored after it.

    :param executor: the process that gives it back
    """
    _owned(state, run, Phase.ADOPTING)
    state = taken(state, run=run, executor=executor, at=at)
    return state.in_phase(Phase.RELEASED, epoch=state.epoch + 1, revision=0, verb="roll_back", at=at)


def releasing(
    state: RegisterState, *, run: str, evidence_sha256: str, approved_by: str, at: datetime, standby: str = ""
) -> RegisterState:
    """Return the record with which a run takes a group to release it.

    :param standby: of several any one that is a copy: all of them are released
    :raises Refused: a run holds the group, or a standby is no copy
    """
    if state.phase is not Phase.STABLE:
        raise Refused(f"{state.group} is {state.phase} by run {state.run} (epoch {state.epoch}): {way_out(state)}")
    return replace(state, partner=standby if state.has_several else "").in_phase(
        Phase.RELEASING,
        **begun(state, "un_adopt", run=run, evidence_sha256=evidence_sha256, approved_by=approved_by, at=at),
    )


def released(state: RegisterState, *, run: str, at: datetime) -> RegisterState:
    """Return the record that closes a group's register: the group is not adopted any more."""
    _owned(state, run, Phase.RELEASING)
    closed = state.in_phase(Phase.RELEASED, revision=state.revision + 1, at=at)
    # Nobody relies on any of them from here on.
    return replace(closed, roles=closed.roles.changed(dict.fromkeys(closed.standbys, Role.PENDING)))


def kept(state: RegisterState, *, run: str, at: datetime, executor: str = "") -> RegisterState:
    """Return the record that ends a release before anything was handed back: the group stays adopted.

    :param executor: the process that abandons the release
    """
    _owned(state, run, Phase.RELEASING)
    state = taken(state, run=run, executor=executor, at=at)
    return state.in_phase(Phase.STABLE, epoch=state.epoch + 1, revision=0, verb="roll_back", at=at)


def _next_epoch(before: RegisterState | None, group: str) -> int:
    """Return the epoch of a group that is adopted now: none is used twice.

    :raises Refused: it is adopted already, or a run adopts it
    """
    if before is not None and before.phase is not Phase.RELEASED:
        raise Refused(f"{group} is {before.phase} by run {before.run} (epoch {before.epoch}): {way_out(before)}")
    return 1 if before is None else before.epoch + 1


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
    """Return the record with which a run claims a group.

    :param highest_epoch: the highest epoch that any cluster's register holds for the group
    :raises Refused: a run holds the group, a standby may not be fenced, or the group is not active on the source
    """
    # With names of their own what was lost arrives late at the cluster that the group was moved to.
    out_of = {Phase.STABLE, *({state.phase} if state.is_at_rest_and_fenced and not state.copies_named else ())}
    return replace(
        _taken(state, out_of=out_of, source=source, target=target),
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
    """Return the record with which an unplanned failover claims a group, also from a run that died while switching.

    The epoch is the next multiple of :data:`UNPLANNED_EPOCHS`, so that a planned run that is isolated together with
    the source, and adds one for each claim, can never reach it. The number of the target among several clusters is
    added, so that two claims for different targets never have the same.

    :param highest_epoch: the highest epoch that any register that answers holds for the group
    :raises Refused: the group was handed over and is not settled, or is not active on the source
    """
    out_of = {Phase.STABLE, Phase.SWITCHING, *({state.phase} if state.is_at_rest else ())}
    begun = _taken(state, out_of=out_of, source=source, target=target)
    number = [name for name, _ in state.roles.each].index(target) + 1 if state.has_several else 0
    return replace(
        begun,
        epoch=(max(state.epoch, highest_epoch) // UNPLANNED_EPOCHS + 1) * UNPLANNED_EPOCHS + number,
        verb="unplanned_failover",
        run=run,
        based_on=state.news if state.has_several else (0, 0),
        evidence_sha256=evidence_sha256,
        approved_by=approved_by,
        at=at,
    )


def taken(state: RegisterState, *, run: str, executor: str, at: datetime) -> RegisterState:
    """Return the record with which a process takes a run: no other process of the run may change anything after it.

    :raises Refused: another run holds the group
    """
    if state.run != run:
        raise Refused(
            f"{state.group} is {state.phase} by run {state.run} (epoch {state.epoch}), not by run {run}: this run may "
            "not change it"
        )
    return replace(state, revision=state.revision + 1, attempt=state.attempt + 1, executor=executor, attempt_at=at)


def handed_over(state: RegisterState, *, run: str, at: datetime) -> RegisterState:
    """Return the record that is the point of no return: the former standby is now the active cluster."""
    _owned(state, run, Phase.SWITCHING)
    # What the former active cluster is copied to needs a flow from the new one, unless copies have names of their own:
    # then it has that. A standby that was given up before stays what it is.
    waiting = () if state.copies_named else state.followers
    roles = state.roles.changed({**dict.fromkeys((state.active, *waiting), Role.PENDING), state.standby: Role.ACTIVE})
    partner = state.active if state.partner else ""
    return replace(state, revision=state.revision + 1, phase=Phase.HANDED_OVER, roles=roles, partner=partner, at=at)


def copied_again(state: RegisterState, standby: str) -> RegisterState:
    """Return the record which says that a standby is copied from the active cluster, from where its copy ended.

    Nothing else about the group changes: the record is still that of its last run.

    :raises Refused: a run holds the group, or that standby does not wait for a flow
    """
    return _of_follower(state, standby, Role.COPY, out_of=(Role.PENDING,))


def holds_more(state: RegisterState, standby: str) -> RegisterState:
    """Return the record which says that a standby holds records to which no flow may add anything.

    The active cluster lacks them, or the flow would copy them again.

    Nothing else about the group changes: the record is still that of its last run.

    :raises Refused: a run holds the group, or that standby neither has a flow nor waits for one
    """
    return _of_follower(state, standby, Role.DIVERGED, out_of=(Role.PENDING, Role.COPY))


def _of_follower(state: RegisterState, standby: str, role: Role, *, out_of: Collection[Role]) -> RegisterState:
    if not state.is_at_rest:
        raise Refused(f"{state.group} is {state.phase} by run {state.run} (epoch {state.epoch}): {way_out(state)}")
    if state.roles.of(standby) not in out_of:
        raise Refused(f"{standby} does not wait for a flow: the clusters of {state.group} are {state.roles}")
    roles = state.roles.changed({standby: role})
    phase = state.phase if state.is_held else phase_at_rest(roles)
    return replace(state, revision=state.revision + 1, phase=phase, roles=roles)


def denying_all(state: RegisterState) -> RegisterState:
    """Return the record by which DENYs of every operation may make a fence of a group that no run holds.

    Nothing else about the group changes: the record is still that of its last run.

    :raises Refused: a run holds the group
    """
    if state.is_held or not state.is_adopted:
        raise Refused(f"{state.group} is {state.phase} by run {state.run} (epoch {state.epoch}): {way_out(state)}")
    return replace(state, revision=state.revision + 1, denies_all=True)


def settled(state: RegisterState, *, run: str, at: datetime) -> RegisterState:
    """Return the record that ends a successful run."""
    _owned(state, run, Phase.HANDED_OVER)
    return state.in_phase(Phase.STABLE, revision=state.revision + 1, at=at)


def without_source(state: RegisterState, *, run: str, fenced: bool, at: datetime) -> RegisterState:
    """Return the record that ends an unplanned failover that may not have copied every record.

    :param fenced: whether the old cluster is proven to refuse writes
    """
    _owned(state, run, Phase.HANDED_OVER)
    phase = Phase.DIVERGED if fenced else Phase.UNFENCED
    return state.in_phase(phase, revision=state.revision + 1, at=at)


def fenced_on_return(state: RegisterState, *, at: datetime, cluster: str = "") -> RegisterState:
    """Return the record which says that an old cluster is back and proven to refuse writes.

    :param cluster: which one; empty: the one that the last run has moved the group from
    :raises Refused: the group is not unfenced, or that cluster is not
    """
    cluster = cluster or state.moved_with
    if state.phase is not Phase.UNFENCED or state.roles.of(cluster) is not Role.UNFENCED:
        raise Refused(
            f"{state.group} is {state.phase} (epoch {state.epoch}), not unfenced: there is no old cluster to fence"
        )
    roles = state.roles.changed({cluster: Role.DIVERGED})
    return replace(state, phase=phase_at_rest(roles), roles=roles, revision=state.revision + 1, at=at)


def failback_begun(
    state: RegisterState, *, run: str, evidence_sha256: str, approved_by: str, at: datetime, standby: str = ""
) -> RegisterState:
    """Return the record with which a failback claims a group, to make one diverged standby a copy again.

    The epoch rises, as with every claim: it distinguishes the failback's flow from the one that the unplanned run
    did not start. All other standbys are what they were.

    :param standby: which one; empty: the one that the last run has moved the group from
    :raises Refused: it is not diverged, or another run holds the group
    """
    standby = standby or state.moved_with
    if state.is_failing_back and state.run != run:
        raise Refused(f"failback {state.run} owns {state.group}: finish or abandon that run with dr_resume")
    if state.phase in HOLDING or state.roles.of(standby) is not Role.DIVERGED:
        raise Refused(
            f"{state.group} is {state.phase} by run {state.run} (epoch {state.epoch}), and {standby} is "
            f"{state.roles.of(standby) or 'none of its clusters'}, not diverged: a failback can begin when {standby} "
            "is back and fenced"
        )
    return replace(
        state,
        phase=Phase.DIVERGED,
        partner=standby if state.has_several else "",
        based_on=(0, 0),
        **begun(state, "failback", run=run, evidence_sha256=evidence_sha256, approved_by=approved_by, at=at),
    )


def failed_back(state: RegisterState, *, run: str, quarantine: tuple[str, ...], at: datetime) -> RegisterState:
    """Return the record that ends a failback: the standby is a copy again, except for quarantined ranges.

    :param quarantine: the quarantined ranges of the standby's log
    """
    _failing_back(state, run)
    return state.in_phase(Phase.STABLE, revision=state.revision + 1, quarantine=quarantine, at=at)


def failback_abandoned(state: RegisterState, *, run: str, at: datetime, executor: str = "") -> RegisterState:
    """Return the record with which a failback gives up a group, which stays diverged.

    The epoch rises, so that a step of the failback that still runs somewhere sees that it no longer owns the group.

    :param executor: the process that abandons it
    """
    _failing_back(state, run)
    state = taken(state, run=run, executor=executor, at=at)
    phase = phase_at_rest(state.roles)
    return replace(state, phase=phase, epoch=state.epoch + 1, revision=0, verb="roll_back", at=at)


def rolled_back(
    state: RegisterState, *, run: str, at: datetime, executor: str = "", fetched: bool = False
) -> RegisterState:
    """Return the record that ends a run before its point of no return.

    The epoch rises, so that a step of the run that still runs somewhere sees that it no longer owns the group.

    :param executor: the process that rolls it back
    :param fetched: whether records of another standby were fetched to the target. Its flow does not know of them and
        would copy them again, so nothing is copied to it any more
    """
    _owned(state, run, Phase.SWITCHING)
    state = taken(state, run=run, executor=executor, at=at)
    back = state.in_phase(Phase.STABLE, epoch=state.epoch + 1, revision=0, verb="roll_back", at=at)
    if not fetched:
        return back
    roles = back.roles.changed({back.moved_with: Role.DIVERGED})
    return replace(back, roles=roles, phase=phase_at_rest(roles))


def _taken(state: RegisterState, *, out_of: Collection[Phase], source: str, target: str) -> RegisterState:
    """Return the record of a group that begins to switch, if its phase and active cluster permit it.

    :param out_of: the phases in which the group may be claimed
    """
    if state.phase not in out_of:
        raise Refused(f"{state.group} is {state.phase} by run {state.run} (epoch {state.epoch}): {way_out(state)}")
    if state.active != source:
        raise Refused(f"{state.group} is active on {state.active}, not on {source}: start the run with that source")
    if source == target:
        raise Refused(f"{state.group} is already active on {target}: choose another target")
    if state.roles.of(target) is not Role.COPY:
        others = ", ".join(state.roles.copies) or "none does"
        raise Refused(f"{target} holds no copy of {state.group}: choose {others}")
    partner = target if state.has_several else ""
    return replace(state, partner=partner, based_on=(0, 0)).in_phase(Phase.SWITCHING, revision=0, **_NO_ATTEMPT)


def _failing_back(state: RegisterState, run: str) -> None:
    if not state.is_failing_back:
        raise Refused(f"{state.group} is {state.phase} by {state.verb} {state.run}: no failback owns it")
    _owned(state, run, Phase.DIVERGED)


def _owned(state: RegisterState, run: str, phase: Phase) -> None:
    if state.run != run or state.phase is not phase:
        raise Refused(
            f"{state.group} is {state.phase} by run {state.run} (epoch {state.epoch}), "
            f"not {phase} by run {run}: this run may not change it"
        )

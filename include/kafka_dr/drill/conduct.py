"""The phases of a drill, in their order: begin, carry out, tear down. Each can be a process of its own.

What is kept after each phase is the drill's result so far, so that a process that was killed leaves a drill that did
not pass, and never one that nobody hears of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from kafka_dr.counted import counted
from kafka_dr.drill.approving import approver_of
from kafka_dr.drill.beginning import at_rest, drill_now, drill_to_remove, require_no_other, require_possible
from kafka_dr.drill.copy_jobs import CopyJobs
from kafka_dr.drill.course import Course
from kafka_dr.drill.making import make
from kafka_dr.drill.practice import Practised, practise
from kafka_dr.drill.reach import own_clients
from kafka_dr.drill.result import DrillLeg, DrillResult, DrillResults
from kafka_dr.drill.teardown import tear_down
from kafka_dr.drill.windows import due
from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.evidence.objectives import MeasuredObjective
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.quoting import line
from kafka_dr.runs.clients import Clients
from kafka_dr.topology.drill import DrillKind
from kafka_dr.topology.drill_group import declared
from kafka_dr.topology.objectives import Objectives

Say = Callable[[str], None]
#: So many past results say what is due.
_PAST = 20


def due_drill(clients: Clients) -> tuple[str, DrillKind] | None:
    """Return the group and the kind of the drill that is to begin by itself now; ``None`` if none is.

    A group that is not stable is left out until the next time.
    """
    for name, group in sorted(clients.topology.protection_groups.items()):
        if group.drill is None:
            continue
        kind = due(group.drill, DrillResults(clients.evidence_root, name).newest(_PAST), clients.clock.now())
        if kind is None:
            continue
        try:
            at_rest(name, clients)
        except KafkaDrError:
            continue
        return name, kind
    return None


def begin(
    group: str,
    kind: DrillKind,
    drill_id: str,
    clients: Clients,
    *,
    requester: str,
    key: SigningKey | None = None,
    standby: str | None = None,
) -> DrillResult:
    """Check whether a drill may begin, and keep that it has. Nothing is changed on a cluster.

    :param clients: of the real world
    :param drill_id: see :func:`~kafka_dr.topology.drill_group.id_at`
    :param requester: the name of the person who triggers it; empty where no person does
    :param key: by which that person is known without Airflow
    :param standby: where it goes, see :func:`~kafka_dr.drill.beginning.drill_now`
    :raises Refused: it may not begin
    :raises TryAgain: it cannot be found out
    """
    drill = drill_now(group, kind, drill_id, clients, standby=standby)
    require_possible(drill, clients, requester=requester, key=key)
    require_no_other(drill, clients)
    now = clients.clock.now()
    result = DrillResult(
        group=group,
        id=drill_id,
        kind=kind,
        active=drill.active,
        standby=drill.standby,
        started_at=now,
        ended_at=now,
        passed=False,
        why=(),
        approved_by=approver_of(drill, clients, requester=requester, key=key).person.name,
        requested_by=requester,
        stage="begun",
    )
    _keep(result, clients)
    return result


def carry_out(
    group: str,
    drill_id: str,
    clients: Clients,
    say: Say,
    *,
    requester: str,
    key: SigningKey | None = None,
    jobs: CopyJobs | None = None,
) -> DrillResult:
    """Make what a drill that has begun works on, run its failovers, and keep what was measured.

    :param clients: of the real world
    :param jobs: of the way back from an unplanned failover; without them it is not practised
    :raises Refused: no such drill has begun, or it was carried out already
    """
    begun = _begun(group, drill_id, clients)
    if begun.stage != "begun":
        raise Refused(f"drill {drill_id} of {group} is {begun.stage}: a drill is carried out once; trigger another one")
    with clients.shown.step(group, drill_id, "drill", f"{begun.kind}_drill") as show:
        return _carried_out(begun, clients, _both(say, show), requester=requester, key=key, jobs=jobs)


def _both(say: Say, show: Say) -> Say:
    def both(sentence: str) -> None:
        show(sentence)
        say(sentence)

    return both


def _carried_out(
    begun: DrillResult,
    clients: Clients,
    say: Say,
    *,
    requester: str,
    key: SigningKey | None,
    jobs: CopyJobs | None,
) -> DrillResult:
    group, drill_id = begun.group, begun.id
    try:
        drill = drill_now(group, begun.kind, drill_id, clients, standby=begun.standby)
        if drill.active != begun.active:
            raise Refused(f"{group} was moved from {begun.active} to {drill.active} since the drill has begun")
        approver = approver_of(drill, clients, requester=requester, key=key)
        with own_clients(drill, clients) as own:
            make(drill, own, say)
            found = practise(Course(drill, clients, own, approver, say, requester), jobs)
        result = measured(begun, found, drill.group.objectives)
    except KafkaDrError as error:
        result = replace(begun, why=(line(str(error)),), stage="measured")
    result = replace(result, ended_at=clients.clock.now())
    _keep(result, clients)
    say(result.summary if result.stage == "ended" else "; ".join(result.why) or "everything was measured")
    return result


def conclude(group: str, drill_id: str, clients: Clients, say: Say) -> DrillResult | None:
    """Remove what a drill made, wherever it ended, and keep its result; ``None`` if no such drill has begun.

    :param clients: of the real world
    """
    drill = drill_to_remove(group, drill_id, clients)
    with clients.shown.step(group, drill_id, "drill", "teardown") as show, own_clients(drill, clients) as own:
        left = tear_down(drill, own, _both(say, show))
        result = DrillResults(clients.evidence_root, group).read(drill_id)
        if result is None:
            if left:
                raise Refused("; ".join(left))
            return None
        result = ended(result, left)
        _keep(result, clients)
        clients.shown.found(group, drill_id, result.in_short(died=False))
    say(result.summary)
    return result


def measured(begun: DrillResult, found: Practised, objectives: Objectives) -> DrillResult:
    """Return the result of a drill whose failovers came through, and that is not removed yet."""
    judged = judge(found.legs, objectives)
    why = [each.words for each in judged if each.verdict != "met"]
    for leg in found.legs:
        where = f"{leg.source} → {leg.target}"
        if leg.lost and leg.verb == "failback":
            why.append(f"{where}: {leg.lost} of {leg.acknowledged} acknowledged records are missing in the new copy")
        if leg.lost and leg.verb == "planned_failover":
            why.append(f"{where}: {leg.lost} of {leg.acknowledged} acknowledged records were lost")
        if leg.write_outage_seconds is not None and leg.write_outage_seconds < 0:
            why.append(f"{where}: both clusters acknowledged writes at the same time")
        if leg.reordered:
            why.append(f"{where}: {counted(leg.reordered, 'record is', 'records are')} in another order, or twice")
    if found.unread:
        why.append(f"{counted(found.unread, 'record was', 'records were')} never read, by no member of the group")
    return replace(
        begun,
        legs=found.legs,
        objectives=judged,
        read_again=found.read_again,
        unread=found.unread,
        why=tuple(why),
        stage="measured",
    )


def judge(legs: Sequence[DrillLeg], objectives: Objectives) -> tuple[MeasuredObjective, ...]:
    """Return each objective with the worst that was measured; what one failover did not measure is not known.

    A failback moves no application, so it has no part in them.
    """
    legs = [leg for leg in legs if leg.verb != "failback"]
    planned = [leg for leg in legs if leg.verb == "planned_failover"]
    asked = {"rto_seconds": legs, "rpo_seconds": legs, **({"write_outage_seconds": planned} if planned else {})}
    return tuple(
        MeasuredObjective(
            name,
            _worst([getattr(leg, name) for leg in of]),
            getattr(objectives, name),
            "approval" if name == "rto_seconds" and objectives.rto_from == "approval" else "",
        )
        for name, of in asked.items()
    )


def ended(result: DrillResult, left: Sequence[str]) -> DrillResult:
    """Return the result after the teardown.

    :param left: what it left, a sentence each
    """
    why = tuple(each for each in result.why if not each.startswith(_LEFT))
    if result.stage == "begun":
        why = (*why, "its process ended before anything was measured")
    why = (*why, *(f"{_LEFT}{each}" for each in left))
    return replace(result, passed=not why and bool(result.legs), why=why, stage="ended")


def left_in(result: DrillResult | None) -> tuple[str, ...]:
    """Return what the teardown of a drill left, a sentence each."""
    return tuple(each for each in result.why if each.startswith(_LEFT)) if result is not None else ()


_LEFT = "the teardown left something: "


def _worst(seconds: Sequence[float | None]) -> float | None:
    known = [each for each in seconds if each is not None]
    return max(known) if known and len(known) == len(seconds) else None


def _begun(group: str, drill_id: str, clients: Clients) -> DrillResult:
    declared(clients.topology, group)
    found = DrillResults(clients.evidence_root, group).read(drill_id)
    if found is None:
        raise Refused(f"no drill {drill_id} of {group} has begun")
    return found


def _keep(result: DrillResult, clients: Clients) -> None:
    """Keep a result; one that holds a secret is refused."""
    clients.evidence.checked(result.to_json())
    DrillResults(clients.evidence_root, result.group).write(result)

"""What a drill does between its making and its teardown: under load, a failover, and the way back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from kafka_dr.clusters import ClientSettings, OffsetRange, TopicPartition
from kafka_dr.clusters.group_member import SESSION_SECONDS
from kafka_dr.drill import truth
from kafka_dr.drill.application import DrillApplication
from kafka_dr.drill.beginning import at_rest
from kafka_dr.drill.copy_jobs import CopyJobs
from kafka_dr.drill.course import Course, Moved, move
from kafka_dr.drill.making import wait_until_flowing
from kafka_dr.drill.reach import without
from kafka_dr.drill.result import DrillLeg
from kafka_dr.drill.way_back import fence_on_return, go_back
from kafka_dr.durations import duration
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.clients import Clients
from kafka_dr.waiting import wait_until
from kafka_dr.watch.canary_check import watch_canary

#: How long the application may take until it works at all, and its readers until they have read everything, in seconds.
_WORKS_SECONDS, _READ_SECONDS = 60.0, 60.0
#: So many records are read on a cluster before the application counts as working there.
_SOME = 20


@dataclass(frozen=True, slots=True)
class Practised:
    """What was measured.

    :param unread: see :class:`~kafka_dr.drill.result.DrillResult`
    """

    legs: tuple[DrillLeg, ...]
    unread: int
    read_again: int


def practise(course: Course, jobs: CopyJobs | None = None) -> Practised:
    """Run the failovers of a drill, under load of its own, and measure them.

    :param jobs: of the way back from an unplanned failover; without them it is not practised
    :raises KafkaDrError: a step did not succeed, or the application stopped working
    """
    lost: list[Clients] = []
    planned = course.drill.kind == "planned"
    with _application(course, lost) as application:
        began = course.own.clock.now()
        moves = _planned(course, application) if planned else _unplanned(course, application, lost, jobs)
        application.stop_writing()
        _wait_read(course, application, course.drill.active if planned else course.drill.standby)
    log = application.log()
    if moves[-1].request.verb == "failback":
        _wait_copied(course, log)
    return _measured(course, log, moves, began)


def _planned(course: Course, application: DrillApplication) -> list[Moved]:
    """There, and back."""
    drill, moves = course.drill, []
    for name, source, target in (("there", drill.active, drill.standby), ("back", drill.standby, drill.active)):
        _require_at_rest(course)
        wait_until_flowing(drill, course.own)
        _wait_until_left(course, target)
        with course.own.among(course.own.topology, evidence_root=course.own.evidence_root) as clients:
            request = course.request(name, "planned_failover", source, target)
            moves.append(move(request, clients, course.approver, course.say))
        _wait_working(course, application, target, since=moves[-1].approved_at)
    return moves


def _unplanned(
    course: Course, application: DrillApplication, lost: list[Clients], jobs: CopyJobs | None
) -> list[Moved]:
    """The source is lost, for the drill alone; after the failover it is back, is fenced, and becomes a copy again."""
    drill = course.drill
    _require_at_rest(course)
    # What a disaster leaves is what was seen before it: the last look at the groups, as dr_canary takes it each minute.
    course.say(f"last look: {watch_canary(drill.name, course.own).summary}")
    replicator = course.own.replicator(Flow(drill.name, drill.active, drill.standby))
    with without(drill, course.real, drill.active) as clients:
        # A flow from a lost cluster copies nothing more; what runs it cannot be led to another address.
        replicator.stop()
        replicator.wait_stopped(_WORKS_SECONDS)
        lost.append(clients)
        application.lose_connections()
        course.say(f"{drill.active} is lost for the drill: its connections lead to a closed port")
        request = course.request("there", "unplanned_failover", drill.active, drill.standby)
        moved = move(request, clients, course.approver, course.say)
        _wait_working(course, application, drill.standby, since=moved.approved_at)
    lost.clear()
    fence_on_return(course)
    # What only the old cluster holds may arrive late, and was lost at the failover all the same.
    moved = replace(moved, held=_held(course, drill.standby))
    if jobs is None:
        course.say("the way back is not practised: nothing here starts the jobs that compare whole copies")
        return [moved]
    _require_at_rest(course)
    return [moved, go_back(course, moved, jobs)]


@contextmanager
def _application(course: Course, lost: list[Clients]) -> Iterator[DrillApplication]:
    """Run the application as long as the block does; when that begins, it works.

    :param lost: after a disaster, the clients that say where everything leads
    """
    drill = course.drill

    def reach(cluster: str) -> ClientSettings:
        clients = next(iter(lost), course.real)
        return clients.connections.kafka(drill.spec.connections[cluster])

    application = DrillApplication(
        drill.topics,
        read_on=partial(_topics_on, course),
        partitions=drill.spec.partitions,
        group=drill.readers,
        rate=drill.spec.records_per_second,
        router=course.own.router(course.own.topology.group(drill.name)),
        reach=reach,
        clock=course.own.clock,
    )
    with application.running():
        _wait_working(course, application, drill.active, since=None)
        course.own.clock.sleep(drill.spec.load_seconds)
        yield application


def _wait_working(course: Course, application: DrillApplication, cluster: str, *, since: datetime | None) -> None:
    """Wait until records are written to a cluster and read there.

    :raises TryAgain: they are not
    """

    def works() -> bool:
        log = application.log()
        there = {each.number for each in log.acknowledged if each.cluster == cluster and (not since or each.at > since)}
        return sum(each.cluster == cluster and each.number in there for each in log.read) >= _SOME

    seconds = max(_WORKS_SECONDS, course.drill.group.objectives.rto_seconds)
    if not wait_until(works, bool, clock=course.own.clock, seconds=seconds):
        why = f" ({application.broken})" if application.broken else ""
        raise TryAgain(f"the drill's application did not work on {cluster} within {duration(seconds)}{why}")


def _wait_until_left(course: Course, cluster: str) -> None:
    """Wait until the readers are no members on a cluster any more: a member that was fenced cannot leave by itself.

    What is left after that is found by the preflight.
    """
    groups, name = course.own.cluster(cluster, "operator").groups, course.drill.readers
    wait_until(
        lambda: groups.states([name])[name].members,
        lambda members: not members,
        clock=course.own.clock,
        seconds=5 * SESSION_SECONDS,
    )


def _wait_read(course: Course, application: DrillApplication, cluster: str) -> None:
    """Wait until the readers have read what a cluster holds; how much they have not is part of the result."""

    def left() -> int:
        return truth.unread(application.log(), _held(course, cluster))

    wait_until(left, lambda found: not found, clock=course.own.clock, seconds=_READ_SECONDS, pause_seconds=1.0)


def _require_at_rest(course: Course) -> None:
    state = at_rest(course.drill.group.name, course.real)
    if state.active != course.drill.active or course.drill.standby not in state.roles.copies:
        raise Refused(f"{course.drill.group.name} was moved to {state.active} during the drill, which ends therefore")


def _topics_on(course: Course, cluster: str) -> tuple[str, ...]:
    """Return the topics that hold the drill's records on a cluster."""
    group, topics = course.own.topology.group(course.drill.name), course.drill.topics
    return (*topics, *group.copies_of(topics, cluster))


def _held(course: Course, cluster: str) -> dict[TopicPartition, list[int]]:
    """Return the numbers of the records that a cluster holds, read as the audit, in the order of each log."""
    reader, topics = course.own.cluster(cluster, "audit"), _topics_on(course, cluster)
    partitions = [TopicPartition(topic, n) for topic in topics for n in range(course.drill.spec.partitions)]
    starts, ends = reader.topics.log_starts(partitions), reader.topics.last_stable_offsets(partitions)
    found: dict[TopicPartition, list[int]] = {partition: [] for partition in partitions}
    for record in reader.log.read({p: OffsetRange(starts[p], ends[p]) for p in partitions}):
        found[TopicPartition(record.topic, record.partition)].append(int(record.value or b"-1"))
    return found


def _wait_copied(course: Course, log: truth.ApplicationLog) -> None:
    """Wait until the old cluster holds every record of the active one; what it does not is part of the result."""
    source, target = course.drill.standby, course.drill.active

    def missing() -> int:
        return truth.of_copy(log, source=source, held=_held(course, target)).lost

    wait_until(missing, lambda found: not found, clock=course.own.clock, seconds=_READ_SECONDS, pause_seconds=1.0)


def _measured(course: Course, log: truth.ApplicationLog, moves: Sequence[Moved], began: datetime) -> Practised:
    held = {cluster: _held(course, cluster) for cluster in course.drill.clusters}
    switches = [moved for moved in moves if moved.request.verb != "failback"]
    legs, ends = [], [*(moved.approved_at for moved in switches[1:]), None]
    for moved, since, until in zip(switches, (began, *ends), ends, strict=False):
        source, target = moved.request.source or "", moved.request.target or ""
        seen = truth.of_leg(
            log,
            source=source,
            target=target,
            period=(since or began, until),
            decided_at=moved.approved_at,
            held=held[target] if moved.held is None else moved.held,
            since_fault=course.drill.group.objectives.rto_from == "fault",
        )
        legs.append(_leg(moved, source, target, seen))
    active = legs[-1].target
    for moved in moves[len(switches) :]:
        target = moved.request.target or ""
        legs.append(_leg(moved, active, target, truth.of_copy(log, source=active, held=held[target])))
    return Practised(tuple(legs), truth.unread(log, held[active]), truth.read_again(log))


def _leg(moved: Moved, source: str, target: str, seen: truth.LegTruth) -> DrillLeg:
    names = ("rto_seconds", "rpo_seconds", "write_outage_seconds", "seconds_to_caught_up", "stranded")
    return DrillLeg(
        verb=moved.request.verb,
        run=moved.request.run,
        source=source,
        target=target,
        decided_at=moved.approved_at,
        rto_seconds=seen.rto_seconds,
        write_outage_seconds=seen.write_outage_seconds,
        rpo_seconds=seen.rpo_seconds,
        acknowledged=seen.acknowledged,
        lost=seen.lost,
        reordered=seen.reordered,
        report={name: moved.report[name] for name in names if name in moved.report},
    )

"""Active-active use: the rules of a pair, for the clients of each member and for the log of each origin.

The clients of a member are the applications whose names end with its name. A consumer group runs on each member, and
its positions there are about what it has seen there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lab.invariants.check import figures
from lab.invariants.completeness import check_completeness
from lab.invariants.copies import differing
from lab.invariants.group_offsets import check_group_offsets
from lab.invariants.late import check_late
from lab.invariants.losses import check_losses
from lab.invariants.model import (
    ActivePeriod,
    InvariantReport,
    InvariantResult,
    Logs,
    LostCluster,
    Observation,
)
from lab.invariants.single_writer import check_single_writer, switches


def check_members(
    observation: Observation, periods: Mapping[str, Sequence[ActivePeriod]], *, left: LostCluster | None
) -> InvariantReport:
    """Check everything since the applications began; loss and order also of what was there before.

    :param periods: by member the clusters on which its clients were meant to be, in their order
    :param left: the member that was lost, if one was, and that is back
    """
    since = min(each[0].since for each in periods.values())
    clients = {member: _of_clients(observation, member, periods, left) for member in periods}
    single = [
        check_single_writer(clients[each], periods[each], left=left if left and left.cluster == each else None)
        for each in periods
    ]
    complete = [check_completeness(observation, active=each) for each in periods]
    in_position, skipped = check_group_offsets(there := _each_group_on_each(observation), since=since)
    changes = tuple(
        change
        for member, each in periods.items()
        for change in switches(replace(clients[member], groups=()), each)  # each group runs on each member all the time
    )
    losses = None if left is None else check_losses(observation, active=periods[left.cluster][1].cluster, left=left)
    listed = () if losses is None or left is None else (losses.finding, check_late(observation, left))
    return InvariantReport(
        findings=(
            _worst(each for each, _ in single),
            _worst((*(second for second, _, _ in complete), _check_copies(observation.logs))),
            in_position,
            *listed,
            _worst(tenth for _, tenth, _ in complete),
        ),
        figures=figures(
            there,
            [seen for _, _, seen in complete],
            since=since,
            both_sides=sum(many for _, many in single),
            skipped=skipped,
            losses=losses,
            left=left,
        ),
        switches=changes,
        unknown=tuple(sentence for change in changes for sentence in change.unknown),
    )


def _check_copies(logs: Mapping[str, Logs]) -> InvariantResult:
    if found := differing(logs):
        said = f"{len(found)} copies are not what their originals are"
        return InvariantResult("I2", "violated", said, tuple(found[:3]))
    count = sum(len(log) for member, held in logs.items() for part, log in held.items() if part.origin != member)
    if not count:
        return InvariantResult("I2", "unknown", "no member holds a copy: there is nothing to compare")
    said = f"each member holds what the others took, in its order, each once: {count} records in copies"
    return InvariantResult("I2", "held", said)


def _of_clients(observation: Observation, member: str, periods: Iterable[str], left: LostCluster | None) -> Observation:
    """Leave out what the clients of other members wrote. Who is nobody's client has written to the lost one."""
    nobodys = left.cluster if left else None

    def writes(application: str) -> bool:
        found = application.rpartition("-")[2]
        return member == (found if found in periods else nobodys)

    return replace(observation, writes=[each for each in observation.writes if writes(each.record.application)])


def _each_group_on_each(observation: Observation) -> Observation:
    """Name the group that runs on one member otherwise than that on another one."""
    return replace(
        observation,
        deliveries=[replace(each, group=f"{each.group} on {each.cluster}") for each in observation.deliveries],
        commits=[replace(each, group=f"{each.group} on {each.cluster}") for each in observation.commits],
        groups=(),
    )


def _worst(results: Iterable[InvariantResult]) -> InvariantResult:
    """Return what is worst of several answers about one invariant; of good ones the last, which says most."""
    order = ("held", "not judged", "unknown", "violated")
    return max(reversed(list(results)), key=lambda each: order.index(each.outcome))

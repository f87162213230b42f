"""Several clusters used together: the rules of a pair, for the clients of each member and the log of each origin.

The clients of a member are the applications whose names end with its name. A consumer group runs on each member, and
its positions there are about what it has seen there. One whose name ends like that moves with these clients, and runs
on one member at a time. To a hub nobody writes; its clients only read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from lab.invariants.check import figures
from lab.invariants.completeness import check_completeness
from lab.invariants.copies import differing
from lab.invariants.group_offsets import check_group_offsets
from lab.invariants.late import check_late
from lab.invariants.losses import check_losses
from lab.invariants.model import (
    ActivePeriod,
    Commit,
    Delivery,
    InvariantReport,
    InvariantResult,
    Logs,
    LostCluster,
    Observation,
)
from lab.invariants.single_writer import check_single_writer, ownership, switches, window

_Said = TypeVar("_Said", Commit, Delivery)


def check_members(
    observation: Observation,
    periods: Mapping[str, Sequence[ActivePeriod]],
    *,
    left: LostCluster | None,
    hubs: Collection[str] = (),
) -> InvariantReport:
    """Check everything since the applications began; loss and order also of what was there before.

    :param periods: by member the clusters on which its clients were meant to be, in their order
    :param left: the member that was lost, if one was, and that is back
    :param hubs: the members that hold copies of all others, and nobody writes to; by default each member holds them
    """
    since = min(each[0].since for each in periods.values())
    clients = {member: _of_clients(observation, member, periods, left) for member in periods}
    single = [
        (_check_unwritten if each in hubs else check_single_writer)(
            clients[each], periods[each], left=left if left and left.cluster == each else None
        )
        for each in periods
    ]
    complete = [check_completeness(observation, active=each) for each in hubs or periods]
    in_position, skipped = check_group_offsets(there := _each_group_on_each(observation, periods), since=since)
    changes = tuple(
        change
        for member, each in periods.items()
        for change in switches(replace(clients[member], groups=_only_moving(observation, member, hubs)), each)
    )
    losses = None if left is None else check_losses(observation, active=periods[left.cluster][1].cluster, left=left)
    listed = () if losses is None or left is None else (losses.finding, check_late(observation, left))
    return InvariantReport(
        findings=(
            _worst((*(each for each, _ in single), *_run_on_one(observation, periods))),
            _worst((*(second for second, _, _ in complete), _check_copies(observation.logs, hubs or tuple(periods)))),
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


def _only_moving(observation: Observation, member: str, hubs: Collection[str]) -> tuple[str, ...]:
    """Return the groups that begin to work on another hub; where clients write, their writes show when they did.

    Every other group runs on each member all the time.
    """
    moving = {each.group for each in observation.deliveries if _member(each.group, [member])}
    return tuple(sorted(moving)) if member in hubs else ()


def _check_unwritten(
    observation: Observation, periods: Sequence[ActivePeriod], *, left: LostCluster | None
) -> tuple[InvariantResult, int]:
    """Say whether a hub took a write, apart from what one took that was lost and came back, and is in the list."""
    excused = window(observation, left)
    wrong = [each for each in observation.writes if each not in excused and each.at >= periods[0].since]
    if wrong:
        said = f"{len(wrong)} writes were acknowledged by {wrong[0].cluster}, whose clients only read"
        return InvariantResult("I1", "violated", said, (str(wrong[0].record),)), len(wrong)
    return InvariantResult("I1", "held", f"nobody's write was acknowledged by {periods[0].cluster}"), 0


def _check_copies(logs: Mapping[str, Logs], holding: Collection[str]) -> InvariantResult:
    if found := differing(logs, holding=holding):
        said = f"{len(found)} copies are not what their originals are"
        return InvariantResult("I2", "violated", said, tuple(found[:3]))
    copies = ((member, logs[member]) for member in holding)
    count = sum(len(log) for member, held in copies for part, log in held.items() if part.origin != member)
    if not count:
        return InvariantResult("I2", "unknown", "no member holds a copy: there is nothing to compare")
    said = (
        f"{' and '.join(sorted(holding))} hold what the others took, in its order, each once: {count} records in copies"
    )
    return InvariantResult("I2", "held", said)


def _of_clients(
    observation: Observation, member: str, periods: Collection[str], left: LostCluster | None
) -> Observation:
    """Leave out what the clients of other members wrote. Who is nobody's client has written to the lost one."""
    nobodys = left.cluster if left else None

    def writes(application: str) -> bool:
        return member == (_member(application, periods) or nobodys)

    return replace(observation, writes=[each for each in observation.writes if writes(each.record.application)])


def _each_group_on_each(observation: Observation, members: Collection[str]) -> Observation:
    """Name the group that runs on one member otherwise than that on another one, unless it moves."""

    def named(seen: _Said) -> _Said:
        return seen if _member(seen.group, members) else replace(seen, group=f"{seen.group} on {seen.cluster}")

    return replace(
        observation,
        deliveries=[named(each) for each in observation.deliveries],
        commits=[named(each) for each in observation.commits],
        groups=(),
    )


def _run_on_one(observation: Observation, periods: Mapping[str, Sequence[ActivePeriod]]) -> Iterator[InvariantResult]:
    """Say of each group that moves whether a member took a position of it after the next one had done so."""
    groups = {each.group: _member(each.group, periods) for each in observation.commits}
    for group, member in sorted(groups.items()):
        if not member:
            continue
        commits = [each for each in observation.commits if each.group == group]
        owned, since = ownership(commits, periods[member]), periods[member][0].since
        wrong = [each for each in commits if each.at >= since and each.cluster != owned.owner(each.at)]
        if wrong:
            said = f"{wrong[0].cluster} took {len(wrong)} positions of {group} while it ran on another member"
            yield InvariantResult("I1", "violated", said)


def _member(name: str, members: Collection[str]) -> str:
    """Return the member that a name ends with; empty if with none."""
    found = name.rpartition("-")[2]
    return found if found in members else ""


def _worst(results: Iterable[InvariantResult]) -> InvariantResult:
    """Return what is worst of several answers about one invariant; of good ones the last, which says most."""
    order = ("held", "not judged", "unknown", "violated")
    return max(reversed(list(results)), key=lambda each: order.index(each.outcome))

"""What is known of a group now, from the kept results alone. A result that is too old is unknown, and says so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from kafka_dr.causes import cause
from kafka_dr.durations import duration
from kafka_dr.watch_results.kept import FlowNow, KeptResult
from kafka_dr.watch_results.of_standbys import WORST_FIRST, WatchOutcome
from kafka_dr.watch_results.watches import ALL_WATCHES, WATCHES, Watch, WatchName

_NOT_KNOWN = FlowNow()


@dataclass(frozen=True, slots=True)
class WatchStatus:
    """What a watch says of a group now.

    :param outcome: ``unknown`` for a result that is missing, damaged or too old, whatever it says
    :param reason: why it is unknown, if the result itself does not say so; otherwise empty
    :param result: the newest result; ``None`` if there is none that can be read
    :param never: whether the watch has never looked
    :param before_move: whether the newest result is about what the group replicated before its record changed
    """

    watch: Watch
    outcome: WatchOutcome
    reason: str
    result: KeptResult | None
    never: bool = False
    before_move: bool = False


@dataclass(frozen=True, slots=True)
class WatchedGroup:
    """What all watches together say of a group.

    :param outcome: the worst of its watches
    """

    group: str
    outcome: WatchOutcome
    watches: tuple[WatchStatus, ...]

    def of(self, watch: WatchName) -> WatchStatus:
        """Return what one watch says."""
        return next(each for each in self.watches if each.watch.name == watch)

    def named(self, outcome: WatchOutcome) -> tuple[str, ...]:
        """Return the watches with this outcome."""
        return tuple(each.watch.name for each in self.watches if each.outcome == outcome)


def watched_group(
    group: str,
    found: Mapping[WatchName, KeptResult | Exception | None],
    now: datetime,
    names: Iterable[WatchName] = tuple(WATCHES),
) -> WatchedGroup:
    """Judge the kept results of a group, or of an observed flow.

    :param found: what was read: the result, the error if it cannot be read, or ``None`` if there is none
    :param now: the time for which it is judged, UTC
    :param names: the watches that look at it
    """
    flow = flow_of(found.get("health"))
    watches = tuple(watch_status(ALL_WATCHES[name], found.get(name), now, flow=flow) for name in names)
    return _together(group, watches)


def judged_by(watched: WatchedGroup, flow: FlowNow) -> WatchedGroup:
    """Return what watches say of a group of which a later record is known than health has read."""
    watches = tuple(
        replace(each, outcome="unknown", reason=_before_move(each.watch, each.result, flow), before_move=True)
        if each.result is not None and not each.reason and not each.result.is_of(flow)
        else each
        for each in watched.watches
    )
    return _together(watched.group, watches)


def _together(group: str, watches: tuple[WatchStatus, ...]) -> WatchedGroup:
    outcomes = {each.outcome for each in watches}
    return WatchedGroup(group, next(each for each in WORST_FIRST if each in outcomes), watches)


def flow_of(health: KeptResult | Exception | None) -> FlowNow:
    """Return what a group replicates by what was read of its health."""
    return health.flow_now if isinstance(health, KeptResult) else FlowNow()


def watch_status(
    watch: Watch, found: KeptResult | Exception | None, now: datetime, *, flow: FlowNow = _NOT_KNOWN
) -> WatchStatus:
    """Judge the kept result of one watch.

    :param found: what was read: the result, the error if it cannot be read, or ``None`` if there is none
    :param now: the time for which it is judged, UTC
    :param flow: what the group replicates, as far as that is known
    """
    if found is None:
        every = duration(watch.idle or watch.every)
        said = f"{watch.dag_id} has not looked yet; it looks every {every} or sooner: unpause it if paused"
        return WatchStatus(watch, "unknown", said, None, never=True)
    if isinstance(found, Exception):
        return WatchStatus(watch, "unknown", f"its kept result cannot be read: {cause(found)}", None)
    if found.is_old(now):
        said = f"the newest result is older than {duration(found.good_for)}: look at the newest run of {watch.dag_id}"
        if found.looked_at > now:
            said = "the newest result is from the future: compare the clocks of the workers and of this server"
        return WatchStatus(watch, "unknown", said, found)
    if not found.is_of(flow):
        return WatchStatus(watch, "unknown", _before_move(watch, found, flow), found, before_move=True)
    return WatchStatus(watch, found.outcome, "", found)


def _before_move(watch: Watch, found: KeptResult, flow: FlowNow) -> str:
    if found.is_of_another(flow):
        changed = f"{flow.active} has become active since, and the newest result is about the flow before"
    else:
        at = f" at {flow.recorded.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if flow.recorded else ""
        changed = f"a run has changed the group{at}, and the newest result is from before"
    return f"{changed}: wait for {watch.dag_id}"

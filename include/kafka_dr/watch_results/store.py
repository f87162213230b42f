"""Where results of watches are kept: one small file for each watch with all its groups, replaced as a whole.

A watch whose groups are looked at by several tasks also keeps one file for each group, as two tasks that replace the
same file would lose each other's results; a last task collects them. Whichever result of a group is newer counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kafka_dr.json_documents import DocumentDamaged, JsonFile
from kafka_dr.watch_results.figures_over_time import FiguresOverTime, slot_begin
from kafka_dr.watch_results.kept import FlowNow, KeptResult
from kafka_dr.watch_results.of_standbys import CALM
from kafka_dr.watch_results.outcome_changes import OutcomeChange, OutcomeChanges
from kafka_dr.watch_results.status import WatchedGroup, WatchStatus, flow_of, watch_status, watched_group
from kafka_dr.watch_results.watches import ALL_WATCHES, AUDITS, WATCHES, WatchName

_SCHEMA = 1
_FOLDER = "watches"
_NOT_KNOWN = FlowNow()
#: Earlier periods of each group in the file of all groups; the files by day have every change.
_PERIODS = 10


@dataclass(frozen=True, slots=True)
class WatchResultStore:
    """Keeps and reads the newest result of each watch for each group.

    :param root: the evidence root, a path object
    """

    root: Any

    def keep(self, found: KeptResult) -> tuple[KeptResult | None, KeptResult]:
        """Replace the result of a watch for a group.

        A stored result that is damaged is replaced, too: its past is lost. What an audit has proven stays as long as
        it is believed if a later look compared nothing.

        :returns: the result before it, and what was kept
        :raises OSError: the storage does not take it
        """
        try:
            earlier = self.read(found.group, found.watch)
        except DocumentDamaged:
            earlier = None
        if earlier is not None and earlier.outlasts(found):
            return earlier, earlier
        kept = found.after(earlier)
        self._file(found.group, found.watch).write(kept)
        return earlier, kept

    def keep_round(
        self, watch: WatchName, found: Iterable[KeptResult], *, declared: Collection[str]
    ) -> list[tuple[KeptResult | None, KeptResult]]:
        """Replace the file of a watch: new results of some groups, and the former ones of the other declared groups.

        Only one task at a time may do that for a watch. What changed is added to the file of the day.

        :param declared: the groups of the topology; the results of others are dropped
        :returns: for each new result the one before it, and what was kept
        :raises OSError: the storage does not take it
        """
        try:
            earlier = self.read_round(watch)
        except DocumentDamaged:
            earlier = {}
        kept, changes = {name: each for name, each in earlier.items() if name in declared}, []
        pairs: list[tuple[KeptResult | None, KeptResult]] = []
        for each in found:
            before = earlier.get(each.group)
            if before is None or (each.outcome == "left_alone" and watch in AUDITS):
                before = _newest(before, self._alone(each.group, watch))
            if before is not None and before.outlasts(each):
                kept[each.group] = before
                continue
            after = each.after(before)
            kept[each.group] = replace(after, history=after.history[:_PERIODS])
            pairs.append((before, kept[each.group]))
            if before is None or before.outcome != after.outcome:
                changes.append(OutcomeChange.between(before, after))
        self._round_file(watch).write(kept)
        OutcomeChanges(self.root, watch).add(changes)
        self._add_figures(watch, [after for _, after in pairs], declared)
        return pairs

    def _add_figures(self, watch: WatchName, found: Iterable[KeptResult], declared: Collection[str]) -> None:
        """Add what was measured to the figures of the day on which each look ended."""
        by_time: dict[datetime, dict[str, Mapping[str, Any]]] = {}
        for each in found:
            by_time.setdefault(slot_begin(each.looked_at), {})[each.group] = each.facts
        for at, measured in by_time.items():
            FiguresOverTime(self.root, watch).add(at, measured, declared=declared)

    def read_round(self, watch: WatchName) -> Mapping[str, KeptResult]:
        """Return the newest result of each group from the file of a watch.

        :raises DocumentDamaged: the file holds something else
        :raises OSError: the storage does not answer
        """
        found = self._round_file(watch).read() or {}
        if wrong := [name for name, each in found.items() if (each.group, each.watch) != (name, watch)]:
            raise DocumentDamaged(f"the results of {watch} hold the result of another group or watch at {wrong[0]}")
        return found

    def read(self, group: str, watch: WatchName) -> KeptResult | None:
        """Return the newest result of a watch for a group; ``None`` if there is none.

        :raises DocumentDamaged: a file holds something else, or the result of another group or watch
        :raises OSError: the storage does not answer
        """
        return _newest(self.read_round(watch).get(group), self.read_alone(group, watch))

    def read_alone(self, group: str, watch: WatchName) -> KeptResult | None:
        """Return the newest result of a watch for a group from the group's own file; ``None`` if there is none.

        :raises DocumentDamaged: the file holds something else, or the result of another group or watch
        :raises OSError: the storage does not answer
        """
        found = self._file(group, watch).read()
        if found is not None and (found.group, found.watch) != (group, watch):
            raise DocumentDamaged(f"it holds the result of {found.watch} for {found.group}")
        return found

    def _alone(self, group: str, watch: WatchName) -> KeptResult | None:
        try:
            return self.read_alone(group, watch)
        except DocumentDamaged:
            return None

    def _file(self, group: str, watch: WatchName) -> JsonFile[KeptResult]:
        return JsonFile.of(KeptResult, self.root.joinpath(_FOLDER, group, f"{watch}.json"), _SCHEMA)

    def _round_file(self, watch: WatchName) -> JsonFile[dict[str, KeptResult]]:
        # No group's name has a dot, so no group's folder has this name.
        path = self.root.joinpath(_FOLDER, f"{watch}.json")
        return JsonFile.of(dict[str, KeptResult], path, _SCHEMA, under="groups")


def read_status(groups: Iterable[str], store: WatchResultStore, now: datetime) -> tuple[WatchedGroup, ...]:
    """Read the results of these groups and judge them. What cannot be read makes a watch unknown.

    A group whose result in the file of a watch is believed needs no file of its own.
    """
    rounds = {watch: _readable_round(store, watch) for watch in WATCHES}

    def found_of(group: str) -> dict[WatchName, KeptResult | Exception | None]:
        flow = flow_of(_readable(store, rounds["health"], group, "health", now))
        return {watch: _readable(store, rounds[watch], group, watch, now, flow=flow) for watch in WATCHES}

    return tuple(watched_group(group, found_of(group), now) for group in groups)


def read_observed(
    flows: Mapping[str, Collection[WatchName]], store: WatchResultStore, now: datetime
) -> dict[str, WatchedGroup]:
    """Read the results of observed flows and judge them. What cannot be read makes a watch unknown.

    :param flows: by name, what looks at each
    """
    rounds = {
        watch: _readable_round(store, watch) for watch in dict.fromkeys(name for of in flows.values() for name in of)
    }
    return {
        flow: watched_group(
            flow, {watch: _readable(store, rounds[watch], flow, watch, now) for watch in names}, now, tuple(names)
        )
        for flow, names in flows.items()
    }


def read_watch_status(
    group: str, watch: WatchName, store: WatchResultStore, now: datetime, *, flow: FlowNow = _NOT_KNOWN
) -> WatchStatus:
    """Read the result of one watch for a group or an observed flow and judge it, without a look at other watches.

    :param flow: what the group replicates, as far as that is known
    """
    found = _readable(store, _readable_round(store, watch), group, watch, now, flow=flow)
    return watch_status(ALL_WATCHES[watch], found, now, flow=flow)


def _readable_round(store: WatchResultStore, watch: WatchName) -> Mapping[str, KeptResult] | Exception:
    try:
        return store.read_round(watch)
    except (DocumentDamaged, OSError) as error:
        return error


def _readable(
    store: WatchResultStore,
    found: Mapping[str, KeptResult] | Exception,
    group: str,
    watch: WatchName,
    now: datetime,
    *,
    flow: FlowNow = _NOT_KNOWN,
) -> KeptResult | Exception | None:
    if isinstance(found, Exception):
        return found
    together = found.get(group)
    # An audit that a run or a person made is in the group's own file alone.
    hides_one = watch in AUDITS and together is not None and (together.outcome not in CALM or not together.is_of(flow))
    if together is not None and not together.is_old(now) and not hides_one:
        return together
    try:
        # The file of all groups was read once for all of them: when all results are old, it would be read for each.
        return _newest(together, store.read_alone(group, watch))
    except (DocumentDamaged, OSError) as error:
        return error


def _newest(*found: KeptResult | None) -> KeptResult | None:
    return max(filter(None, found), key=lambda each: each.looked_at, default=None)

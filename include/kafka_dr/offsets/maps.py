"""The offset maps that checksum audits keep under the evidence root: of both directions, and of every epoch.

A map says for every record between its first and its last one which offset its copy has. No audit read what is between
the maps of two epochs, so an offset there is not in the map. Maps are also written out for consumers that keep their
offsets outside Kafka: as Parquet, and as CSV for programs that read nothing else.
"""

from __future__ import annotations

import csv
import io
import logging
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from kafka_dr.audit.kept_map import KeptMap, MapState, Runs
from kafka_dr.audit.offset_runs import OffsetRun, joined, translate
from kafka_dr.causes import cause
from kafka_dr.json_documents import DocumentDamaged, write_whole
from kafka_dr.positions import OffsetPair, TopicPartition

_COLUMNS = (
    "epoch",
    "source_topic_id",
    "target_topic_id",
    "topic",
    "partition",
    "source_start",
    "target_start",
    "length",
)
_EXPORTED = ("topic", "partition", "source_start", "target_start", "length")
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class VerifiedRuns:
    """What audits matched of one partition: maps that follow each other on both clusters, oldest first.

    :param stretches: each the runs of one epoch's map, rising on both clusters
    """

    stretches: tuple[tuple[OffsetRun, ...], ...] = ()

    def translate(self, position: int) -> int | None:
        """Return where a reader resumes; ``None`` where no audit read. Both are next to read."""
        for stretch in reversed(self.stretches):
            if stretch[0].source <= position <= stretch[-1].source + stretch[-1].length:
                return translate(stretch, position)
        return None

    def between(self, start: int, end: int) -> int | None:
        """Return how many matched records a range of the target holds; ``None`` where no audit read all of it."""
        if end <= start:
            return 0
        for stretch in self.stretches:
            if stretch[0].target <= start and end <= stretch[-1].target + stretch[-1].length:
                return _records_below(stretch, end) - _records_below(stretch, start)
        return None


NO_RUNS = VerifiedRuns()


@dataclass(frozen=True, slots=True)
class MatchedRecords:
    """What audits matched.

    :param cautions: by partition, why its map is not relied on
    :param problems: what is wrong with the files, a sentence each
    """

    runs: Mapping[TopicPartition, VerifiedRuns] = field(default_factory=dict)
    cautions: Mapping[TopicPartition, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MapStore:
    """The maps of one protection group between two clusters, seen from the source of a run.

    :param root: the evidence root: ``pathlib.Path``, or an object store's path with the same methods
    :param source: its name and its cluster id
    :param target: its name and its cluster id
    :param others: further clusters that hold the same records, by name and cluster id
    """

    root: Any
    group: str
    source: tuple[str, str]
    target: tuple[str, str]
    others: tuple[tuple[str, str], ...] = ()

    def read(self, topic_ids: Mapping[str, tuple[str, str]]) -> MatchedRecords:
        """Return all that was matched.

        :param topic_ids: of the topics as they are now, on source and target; runs of others are left out. An empty id,
            of a cluster that does not answer, is not compared
        """
        runs: dict[TopicPartition, dict[int, list[OffsetRun]]] = {}
        cautions: Mapping[TopicPartition, str] = {}
        problems: list[str] = []
        for forward in (True, False):
            kept = self._kept(forward)
            state = _state_of(kept, problems)
            if forward and state:
                cautions = state.cautions
            for part in _parts(kept, state, problems, forward=forward, former=True):
                for key, found in part.items():
                    if _same(topic_ids.get(key.topic), (key.source_topic_id, key.target_topic_id)):
                        by_epoch = runs.setdefault(TopicPartition(key.topic, key.partition), {})
                        by_epoch.setdefault(key.epoch, []).extend(found)
        return MatchedRecords({p: composed_runs(found) for p, found in runs.items()}, cautions, tuple(problems))

    def pairs_below(
        self, positions: Mapping[TopicPartition, Collection[int]], topic_ids: Mapping[str, tuple[str, str]]
    ) -> dict[TopicPartition, list[OffsetPair]]:
        """Return, for each offset that the map reaches, the last record below it that both clusters have.

        Only as many parts are read as are needed, the newest first. Maps by way of another cluster are joined.
        The pairs prove nothing: content confirms them.

        :param positions: next to read on the source
        :param topic_ids: by topic, on the source and on the target; what the map says of others is left out
        """
        found: dict[TopicPartition, list[OffsetPair]] = {}
        problems: list[str] = []
        for forward in (True, False):
            kept = self._kept(forward)
            state = _state_of(kept, problems)
            about = (self.source[1], self.target[1]) if forward else (self.target[1], self.source[1])
            left = {partition: set(offsets) for partition, offsets in positions.items() if partition.topic in topic_ids}
            for part in _parts(kept, state if state and state.clusters == about else None, problems, forward=forward):
                for partition, offsets in left.items():
                    # Of whatever epoch: only these topics, as they are now.
                    wanted = (*topic_ids[partition.topic], partition.topic, partition.partition)
                    runs = sorted(run for key, found in part.items() if offsets and key[1:] == wanted for run in found)
                    reached = {offset: pair for offset in offsets if (pair := _pair_below(runs, offset))}
                    found.setdefault(partition, []).extend(reached.values())
                    offsets.difference_update(reached)
                if not any(left.values()):
                    break
        for problem in problems:
            _LOG.warning("%s", problem)
        for other in self.others:
            for partition, joined_runs in self._composed(other, topic_ids).items():
                pairs = (_pair_below(joined_runs, offset) for offset in set(positions.get(partition, ())))
                found.setdefault(partition, []).extend(pair for pair in pairs if pair)
        return {partition: pairs for partition, pairs in found.items() if pairs}

    def _composed(
        self, other: tuple[str, str], topic_ids: Mapping[str, tuple[str, str]]
    ) -> dict[TopicPartition, list[OffsetRun]]:
        """Return the map by way of another cluster, by partition; the topics there are not compared by their ids."""
        here = replace(self, target=other, others=()).read({name: (ids[0], "") for name, ids in topic_ids.items()})
        there = replace(self, source=other, others=()).read({name: ("", ids[1]) for name, ids in topic_ids.items()})
        return {p: through(_flat(here.runs[p]), _flat(there.runs[p])) for p in here.runs.keys() & there.runs.keys()}

    def _kept(self, forward: bool) -> KeptMap:
        begin, end = (self.source, self.target) if forward else (self.target, self.source)
        return KeptMap(self.root, group=self.group, direction=f"{begin[0]}-to-{end[0]}")


def _flat(runs: VerifiedRuns) -> list[OffsetRun]:
    return [run for stretch in runs.stretches for run in stretch]


def _state_of(kept: KeptMap, problems: list[str]) -> MapState | None:
    """Return what the audits of one direction know of their map; ``None`` where no state can be read."""
    try:
        return kept.state()
    except (OSError, DocumentDamaged) as error:
        path = kept.folder.joinpath("state.json")
        problems.append(f"the state of the audits in {path} cannot be read ({cause(error)}): no map is used")
        return None


def _parts(
    kept: KeptMap, state: MapState | None, problems: list[str], *, forward: bool, former: bool = False
) -> Iterator[Runs]:
    """Yield the parts that the state names, the newest first, each seen from the source of the run.

    :param state: without one no part counts
    :param problems: gets a sentence for each part that cannot be read
    :param forward: whether the map is of the run's own direction
    :param former: whether to yield the parts of former epochs, too. Of its own epoch no part counts that the state
        does not name: an audit that died left it
    """
    if state is None:
        return
    for name in kept.stored() if former else reversed(state.parts):
        try:
            part = kept.part(name)
        except (OSError, ValueError, KeyError, TypeError) as error:
            said = cause(error)
            where = kept.folder.joinpath("map")
            problems.append(f"part {name} of the offset map in {where} cannot be read ({said}): it is not used")
            continue
        if not forward:
            part = {
                key._replace(source_topic_id=key.target_topic_id, target_topic_id=key.source_topic_id): inverse(runs)
                for key, runs in part.items()
            }
        yield part if name in state.parts else {key: runs for key, runs in part.items() if key.epoch != state.epoch}


def export(folder: Any, runs: Mapping[TopicPartition, VerifiedRuns]) -> tuple[str, str]:
    """Write maps for consumers that keep their offsets outside Kafka.

    An offset ``p`` in ``[source_start, source_start + length]`` becomes ``target_start + p - source_start``.

    :param folder: of the preview's report
    :returns: the names of both files
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        (p.topic, p.partition, run.source, run.target, run.length)
        for p, found in sorted(runs.items())
        for stretch in found.stretches
        for run in stretch
    ]
    types = (pa.string(), pa.int32(), pa.int64(), pa.int64(), pa.int64())
    columns = list(zip(*rows, strict=True)) or [() for _ in _EXPORTED]
    arrays = [pa.array(list(column), kind) for column, kind in zip(columns, types, strict=True)]
    table = pa.table(arrays, names=list(_EXPORTED))
    parquet = io.BytesIO()
    pq.write_table(table, parquet, compression="zstd")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_EXPORTED)
    writer.writerows(rows)
    for name, content in (("offset_map.parquet", parquet.getvalue()), ("offset_map.csv", text.getvalue().encode())):
        write_whole(folder.joinpath(name), content)
    return "offset_map.parquet", "offset_map.csv"


def composed_runs(by_epoch: Mapping[int, Sequence[OffsetRun]]) -> VerifiedRuns:
    """Put the maps of several epochs together: of each older one what is below the newer ones on both clusters.

    :param by_epoch: seen from one cluster: maps of the other direction as :func:`inverse` returns them
    """
    stretches: list[tuple[OffsetRun, ...]] = []
    for epoch in sorted(by_epoch, reverse=True):
        runs = joined(sorted(set(by_epoch[epoch])))
        if any(
            before.source + before.length > after.source or before.target + before.length > after.target
            for before, after in pairwise(runs)
        ):
            # Runs that overlap on one cluster are no map.
            continue
        if stretches:
            first = stretches[-1][0]
            lengths = [min(run.length, first.source - run.source, first.target - run.target) for run in runs]
            runs = [run._replace(length=length) for run, length in zip(runs, lengths, strict=True) if length > 0]
        if runs:
            stretches.append(tuple(runs))
    return VerifiedRuns(tuple(reversed(stretches)))


def inverse(runs: Sequence[OffsetRun]) -> list[OffsetRun]:
    """Return a map of the other direction as one of this direction."""
    return sorted(OffsetRun(run.target, run.source, run.length) for run in runs)


def through(first: Sequence[OffsetRun], second: Sequence[OffsetRun]) -> list[OffsetRun]:
    """Return the map from one log to another by way of a third one, whose records both hold.

    So two copies of one original are compared without an audit of both: from one copy to the original, and from there
    to the other copy.

    :param first: from the one log to the third one, in order
    :param second: from the third log to the other one, in order
    """
    found, number = [], 0
    for run in first:
        end = run.target + run.length
        while number and second[number - 1].source + second[number - 1].length > run.target:
            number -= 1
        while number < len(second) and second[number].source < end:
            other = second[number]
            begin = max(run.target, other.source)
            length = min(end, other.source + other.length) - begin
            if length > 0:
                found.append(OffsetRun(run.source + begin - run.target, other.target + begin - other.source, length))
            number += 1
    return found


def _records_below(stretch: Sequence[OffsetRun], offset: int) -> int:
    """Return how many of the records are below an offset of the target."""
    number = bisect_right(stretch, offset, key=lambda run: run.target) - 1
    if number < 0:
        return 0
    whole = sum(run.length for run in stretch[:number])
    return whole + min(stretch[number].length, offset - stretch[number].target)


def _pair_below(runs: Sequence[OffsetRun], position: int) -> OffsetPair | None:
    number = bisect_left(runs, position, key=lambda run: run.source) - 1
    if number < 0:
        return None
    run = runs[number]
    offset = min(position, run.source + run.length) - 1
    return OffsetPair(offset, run.target + offset - run.source)


def _same(now: tuple[str, str] | None, ids: tuple[str, str]) -> bool:
    """Return whether runs are about the topic as it is now; an empty id is not compared."""
    return now is not None and all(not a or a == b for a, b in zip(now, ids, strict=True))

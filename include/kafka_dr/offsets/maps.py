"""The offset maps that checksum audits leave under the evidence root, of both directions and every epoch.

They are also written out for consumers that keep their positions outside Kafka: as Parquet, and as CSV for whoever has
nothing else at hand.
"""

from __future__ import annotations

import csv
import io
import json
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from kafka_dr.audit.kept_map import KeptMap, MapKey, Runs
from kafka_dr.audit.offset_runs import OffsetRun, joined, translate
from kafka_dr.audit.whole_file import write_whole
from kafka_dr.positions import OffsetPair, TopicPartition


@dataclass(frozen=True, slots=True)
class VerifiedRuns:
    """Maps that lie one behind the other on both sides, oldest first.

    :param stretches: each the runs of one epoch's map, rising on both sides
    """

    stretches: tuple[tuple[OffsetRun, ...], ...] = ()

    def translate(self, position: int) -> int | None:
        """Return where a reader goes on; ``None`` where no audit read. Both are next to read."""
        for stretch in reversed(self.stretches):
            if stretch[0].source <= position <= _ends(stretch)[0]:
                return translate(stretch, position)
        return None

    def between(self, start: int, end: int) -> int | None:
        """Return how many matched records lie in a range of the target; ``None`` where no audit read all of it."""
        if end <= start:
            return 0
        for stretch in self.stretches:
            if stretch[0].target <= start and end <= _ends(stretch)[1]:
                return _records_below(stretch, end) - _records_below(stretch, start)
        return None

    @property
    def records(self) -> int:
        """How many records were matched."""
        return sum(run.length for stretch in self.stretches for run in stretch)


NOTHING = VerifiedRuns()


def composed_runs(by_epoch: Mapping[int, Sequence[OffsetRun]]) -> VerifiedRuns:
    """Put the maps of several epochs together: of each older one what lies below the newer ones on both sides.

    :param by_epoch: seen from one side: maps of the other direction as :func:`inverse` returns them
    """
    stretches: list[tuple[OffsetRun, ...]] = []
    for epoch in sorted(by_epoch, reverse=True):
        runs = joined(sorted(set(by_epoch[epoch])))
        if not rising(runs):
            continue
        if stretches:
            runs = _below(runs, stretches[-1][0])
        if runs:
            stretches.append(tuple(runs))
    return VerifiedRuns(tuple(reversed(stretches)))


def inverse(runs: Sequence[OffsetRun]) -> list[OffsetRun]:
    """Return a map of the other direction as one of this direction."""
    return sorted(OffsetRun(run.target, run.source, run.length) for run in runs)


def rising(runs: Sequence[OffsetRun]) -> bool:
    """Return whether no run overlaps another one, on either side: else it is no map."""
    return all(
        before.source + before.length <= after.source and before.target + before.length <= after.target
        for before, after in pairwise(runs)
    )


def _below(runs: Sequence[OffsetRun], first: OffsetRun) -> list[OffsetRun]:
    kept = []
    for run in runs:
        length = min(run.length, first.source - run.source, first.target - run.target)
        if length > 0:
            kept.append(run._replace(length=length))
    return kept


def _ends(stretch: Sequence[OffsetRun]) -> tuple[int, int]:
    last = stretch[-1]
    return last.source + last.length, last.target + last.length


def _records_below(stretch: Sequence[OffsetRun], offset: int) -> int:
    """Return how many of the records lie below an offset of the target."""
    number = bisect_right(stretch, offset, key=lambda run: run.target) - 1
    if number < 0:
        return 0
    whole = sum(run.length for run in stretch[:number])
    return whole + min(stretch[number].length, offset - stretch[number].target)


_COLUMNS = (
    *("epoch", "source_topic_id", "target_topic_id", "topic", "partition"),
    *("source_start", "target_start", "length"),
)
_EXPORTED = ("topic", "partition", "source_start", "target_start", "length")
#: By partition and epoch.
_Runs = dict[TopicPartition, dict[int, list[OffsetRun]]]


@dataclass(frozen=True, slots=True)
class Maps:
    """What audits matched.

    :param cautions: why a partition's map is not relied on, by partition
    :param problems: what is wrong with the files, a sentence each
    """

    runs: Mapping[TopicPartition, VerifiedRuns] = field(default_factory=dict)
    cautions: Mapping[TopicPartition, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def of(self, partition: TopicPartition) -> VerifiedRuns:
        """Return what was matched of a partition."""
        return self.runs.get(partition, NOTHING)


@dataclass(slots=True)
class _Found:
    runs: _Runs = field(default_factory=dict)
    cautions: dict[TopicPartition, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class MapFiles:
    """Reads the maps of one protection group.

    :param root: the evidence root: ``pathlib.Path``, or an object store's path with the same manners
    """

    def __init__(self, root: Any, group: str) -> None:
        self._root = root
        self._group = group

    def read(self, source: str, target: str, *, topic_ids: Mapping[str, tuple[str, str]]) -> Maps:
        """Return what was matched, seen from a side.

        :param topic_ids: what the topics are now, on source and target; runs of others are left out, and an empty id,
            of a side that does not answer, is not compared
        """
        forth, back = _Found(), _Found()
        self._collect(f"{source}-to-{target}", topic_ids, forth)
        self._collect(f"{target}-to-{source}", {topic: (b, a) for topic, (a, b) in topic_ids.items()}, back)
        by_epoch: _Runs = {p: dict(found) for p, found in forth.runs.items()}
        for partition, found in back.runs.items():
            for epoch, runs in found.items():
                by_epoch.setdefault(partition, {}).setdefault(epoch, []).extend(inverse(runs))
        return Maps(
            {p: composed_runs(found) for p, found in by_epoch.items()},
            forth.cautions,
            (*forth.problems, *back.problems),
        )

    def _collect(self, direction: str, topic_ids: Mapping[str, tuple[str, str]], found: _Found) -> None:
        folder = self._root.joinpath("audits", self._group, "checksum", direction)
        try:
            state = json.loads(folder.joinpath("state.json").read_bytes())
            epoch, named = int(state["identity"][2]), {str(name) for name in state["maps"]}
            found.cautions |= dict(_cautions(state["partitions"]))
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            found.problems.append(f"the state of the audits of {direction} cannot be read ({error}): no map is used")
            return
        kept = KeptMap(self._root, group=self._group, direction=direction)
        stored = kept.stored()
        for name in (*stored, *_only_as_parquet(folder, stored)):
            try:
                runs = kept.part(name) if name in stored else _former_part(folder, name)
            except (OSError, ValueError, KeyError, TypeError) as error:
                found.problems.append(f"{direction}/map/{name} cannot be read ({str(error).splitlines()[0]})")
                continue
            # Parts of the present epoch count only if the state names them: an audit that died left the others.
            _add(runs, topic_ids, epoch if name not in named else None, found.runs)


def export(folder: Any, runs: Mapping[TopicPartition, VerifiedRuns]) -> tuple[str, str]:
    """Write maps for whoever keeps positions outside Kafka.

    A position ``p`` in ``[source_start, source_start + length]`` goes on at ``target_start + p - source_start``.

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


def _only_as_parquet(folder: Any, stored: Collection[str]) -> list[str]:
    """Return the parts that a former version wrote as Parquet alone."""
    try:
        names = [path.name for path in folder.joinpath("map").iterdir()]
    except FileNotFoundError:
        return []
    return sorted({name.removesuffix(".parquet") for name in names if name.endswith(".parquet")} - {*stored})


def _former_part(folder: Any, name: str) -> Runs:
    """Return a part that a former version wrote as Parquet alone."""
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(folder.joinpath("map", f"{name}.parquet").read_bytes()))
    found: dict[MapKey, list[OffsetRun]] = {}
    for *key, source, target, length in zip(*(table[column].to_pylist() for column in _COLUMNS), strict=True):
        found.setdefault(MapKey(*key), []).append(OffsetRun(source, target, length))
    return found


def _add(part: Runs, topic_ids: Mapping[str, tuple[str, str]], unnamed_in: int | None, runs: _Runs) -> None:
    for key, found in part.items():
        ids, now = (key.source_topic_id, key.target_topic_id), topic_ids.get(key.topic)
        if key.epoch == unnamed_in or now is None or any(a and a != b for a, b in zip(now, ids, strict=True)):
            continue
        runs.setdefault(TopicPartition(key.topic, key.partition), {}).setdefault(key.epoch, []).extend(found)


def _cautions(partitions: Iterable[Any]) -> Iterable[tuple[TopicPartition, str]]:
    for each in partitions:
        count = sum(int(found) for found in each["open"].values())
        if count:
            topic, number = each["partition"]
            kinds = ", ".join(sorted(each["open"]))
            yield TopicPartition(str(topic), int(number)), f"{count} findings of the checksum audit stand ({kinds})"


@dataclass(frozen=True, slots=True)
class AuditedPairs:
    """What audits of a group know of two clusters.

    :param root: the evidence root: ``pathlib.Path``, or an object store's path with the same manners
    :param source: its name and id
    :param target: its name and id
    """

    root: Any
    group: str
    source: tuple[str, str]
    target: tuple[str, str]

    def pairs(
        self, positions: Mapping[TopicPartition, Collection[int]], topic_ids: Mapping[str, tuple[str, str]]
    ) -> dict[TopicPartition, list[OffsetPair]]:
        """Return, for each position that the map reaches, the last record below it that both sides have.

        :param positions: next to read on the source
        :param topic_ids: by topic, on the source and on the target: what the map says of others is left aside
        """
        found: dict[TopicPartition, list[OffsetPair]] = {}
        for forth in (True, False):
            left = {partition: set(offsets) for partition, offsets in positions.items()}
            for part in self._parts(forth):
                if not any(left.values()):
                    break
                for partition, offsets in left.items():
                    key_ids = topic_ids.get(partition.topic)
                    runs = _of(part, partition, key_ids, forth) if key_ids and offsets else []
                    reached = {offset: pair for offset in offsets if (pair := _pair_below(runs, offset))}
                    found.setdefault(partition, []).extend(reached.values())
                    offsets.difference_update(reached)
        return {partition: pairs for partition, pairs in found.items() if pairs}

    def _parts(self, forth: bool) -> Iterable[Mapping[MapKey, Sequence[OffsetRun]]]:
        here, there = (self.source, self.target) if forth else (self.target, self.source)
        kept = KeptMap(self.root, group=self.group, direction=f"{here[0]}-to-{there[0]}")
        return kept.newest_first((here[1], there[1]))


def _of(
    part: Mapping[MapKey, Sequence[OffsetRun]], partition: TopicPartition, ids: tuple[str, str], forth: bool
) -> list[OffsetRun]:
    """Return what a part says about a partition, whatever the epoch, rising on the source."""
    wanted = (*(ids if forth else reversed(ids)), partition.topic, partition.partition)
    runs = [run for key, found in part.items() if key[1:] == wanted for run in found]
    return sorted(runs if forth else (OffsetRun(run.target, run.source, run.length) for run in runs))


def _pair_below(runs: Sequence[OffsetRun], position: int) -> OffsetPair | None:
    number = bisect_left(runs, position, key=lambda run: run.source) - 1
    if number < 0:
        return None
    run = runs[number]
    offset = min(position, run.source + run.length) - 1
    return OffsetPair(offset, run.target + offset - run.source)

"""The offset maps that checksum audits leave under the evidence root, of both directions and every epoch.

They are also written out for consumers that keep their positions outside Kafka: as Parquet, and as CSV for whoever has
nothing else at hand.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_dr.audit.offset_runs import OffsetRun
from kafka_dr.audit.whole_file import write_whole
from kafka_dr.offsets.verified_runs import NOTHING, VerifiedRuns, composed_runs, inverse
from kafka_dr.positions import TopicPartition

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
            epoch, named = int(state["identity"][2]), {f"{name}.parquet" for name in state["maps"]}
            found.cautions |= dict(_cautions(state["partitions"]))
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            found.problems.append(f"the state of the audits of {direction} cannot be read ({error}): no map is used")
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        for place in folder.joinpath("map").iterdir():
            # Parts of the present epoch count only if the state names them: an audit that died left the others.
            if not place.name.endswith(".parquet"):
                continue
            try:
                table = pq.read_table(io.BytesIO(place.read_bytes()))
                _add(table, topic_ids, epoch if place.name not in named else None, found.runs)
            except (OSError, ValueError, KeyError, pa.ArrowException) as error:
                found.problems.append(f"{direction}/map/{place.name} cannot be read ({str(error).splitlines()[0]})")


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


def _add(table: Any, topic_ids: Mapping[str, tuple[str, str]], unnamed_in: int | None, runs: _Runs) -> None:
    columns = (table[name].to_pylist() for name in _COLUMNS)
    for epoch, here, there, topic, number, *run in zip(*columns, strict=True):
        now = topic_ids.get(topic)
        if epoch == unnamed_in or now is None or any(a and a != b for a, b in zip(now, (here, there), strict=True)):
            continue
        runs.setdefault(TopicPartition(topic, number), {}).setdefault(epoch, []).append(OffsetRun(*run))


def _cautions(partitions: Iterable[Any]) -> Iterable[tuple[TopicPartition, str]]:
    for each in partitions:
        count = sum(int(found) for found in each["open"].values())
        if count:
            topic, number = each["partition"]
            kinds = ", ".join(sorted(each["open"]))
            yield TopicPartition(str(topic), int(number)), f"{count} findings of the checksum audit stand ({kinds})"

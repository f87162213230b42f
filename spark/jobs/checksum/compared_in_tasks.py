"""Compares a topic in Spark's tasks: the driver has samples, the ends of runs, digests, and unmatched records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import groupby

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from copy_audit.fingerprints import MOST_IN_MEMORY, NOTHING, Fingerprints, Longs, RecordLog, Spool
from copy_audit.item_tasks import RETURNED, align_batches
from copy_audit.matching import nearest
from copy_audit.partitions import MatchedByTasks
from copy_audit.unmatched import Ancestry
from copy_audit.work_items import AlignedItem, ItemRow, WorkItem, confirmed, cut, joined
from jobs.checksum.scanned_rows import ScannedRows
from jobs.executor_modules import send_modules
from jobs.log_files import longs

#: Items of one query: each adds two readers of files to its plan.
_ITEMS_OF_QUERY = 64
#: Sampled records of both clusters that the driver holds, about.
_MOST_SAMPLED = 1_000_000
#: Unmatched records that are taken from Spark at once.
_AT_ONCE = 2_000_000
#: What is fetched last, and may be as much as the topic has.
_KEPT = (ItemRow.SOURCE, ItemRow.TARGET)


@dataclass(frozen=True, slots=True)
class TaskSizes:
    """How a topic is compared, by the records that both clusters have of it.

    :param here: up to so many are compared in the driver: that takes 24 bytes a record, and no task has to start
    :param item: about so many of each cluster a task has; it needs some hundred bytes for each
    :param one_in: one hash in so many is in the samples
    """

    here: int = 8_000_000
    item: int = 2_000_000
    one_in: int = 4_096


@dataclass(frozen=True, slots=True)
class _ItemResult:
    """Where the rows of an aligned item are.

    :param number: of the item in the frame
    :param unmatched: how many records of the source and of the target are
    """

    frame: DataFrame
    number: int
    unmatched: tuple[int, int]


@dataclass(slots=True, eq=False)
class TopicInTasks:
    """One topic.

    :param rows: of the source and of the target
    """

    rows: tuple[ScannedRows, ScannedRows]
    sizes: TaskSizes
    _results: dict[WorkItem, _ItemResult] = field(default_factory=dict)

    def compare(self, partitions: Sequence[int]) -> dict[int, tuple[RecordLog, RecordLog, MatchedByTasks]]:
        """Return the logs of each partition, and what is matched of them."""
        send_modules(self.rows[0].log.session)
        for each in self.rows:
            each.look()
        one_in = max(self.sizes.one_in, sum(map(len, self.rows)) // _MOST_SAMPLED)
        samples = [_sample(each.all(), one_in) for each in self.rows]
        items = [
            item
            for partition in partitions
            for item in cut(
                partition,
                *(each.get(partition, NOTHING) for each in samples),
                every=max(1, self.sizes.item // one_in),
            )
        ]
        try:
            done = confirmed(items, self._align)
            unmatched = self._unmatched(done)
        finally:
            for frame in {id(each.frame): each.frame for each in self._results.values()}.values():
                frame.unpersist()
        found: dict[int, tuple[RecordLog, RecordLog, MatchedByTasks]] = {}
        for partition, mine in groupby(done, lambda item: item.partition):
            both = unmatched[partition, ItemRow.SOURCE], unmatched[partition, ItemRow.TARGET]
            found[partition] = joined([done[each] for each in mine], both, partial(self.rows[0].time_of, partition))
        return found

    def ancestors(self, partitions: Longs, hashes: Longs) -> Ancestry:
        """Find which records of the source have these hashes; see :data:`copy_audit.unmatched.Ancestors`."""
        wanted, number = np.unique(hashes, return_inverse=True)
        rows = self.rows[0].all()
        if rows is None or not len(wanted):
            return Ancestry.unknown(len(hashes))
        asked = f.broadcast(rows.sparkSession.createDataFrame(pa.table({"hash": wanted})))
        table = rows.join(asked, "hash").groupBy("partition", "hash").agg(f.min("offset").alias("offset")).toArrow()
        return nearest(_firsts(wanted, *(longs(table[name]) for name in table.column_names)), partitions, number)

    def _align(self, items: Sequence[WorkItem]) -> dict[WorkItem, AlignedItem]:
        found: dict[WorkItem, AlignedItem] = {}
        for start in range(0, len(items), _ITEMS_OF_QUERY):
            some = items[start : start + _ITEMS_OF_QUERY]
            given = [rows for number, item in enumerate(some) if (rows := self._of_item(number, item)) is not None]
            said: Mapping[tuple[int, str], Longs] = {}
            if given:
                frame = _in_tasks(reduce(DataFrame.unionAll, given), align_batches, RETURNED)
                frame = frame.persist(StorageLevel.DISK_ONLY)
                said = _by_item(frame.where(~_is_kept()).toArrow())
            for number, item in enumerate(some):
                rows_of = {kind: said[number, kind] for kind in ItemRow if (number, kind) in said}
                found[item] = AlignedItem.of(rows_of)
                if ItemRow.UNMATCHED in rows_of:
                    source, target, _ = rows_of[ItemRow.UNMATCHED][0].tolist()
                    self._results[item] = _ItemResult(frame, number, (source, target))
        return found

    def _of_item(self, number: int, item: WorkItem) -> DataFrame | None:
        """Return the rows of an item, all for one task."""
        both = (
            rows.within(item.partition, span) for rows, span in zip(self.rows, (item.source, item.target), strict=True)
        )
        given = [
            rows.select(f.lit(number).alias("item"), f.lit(bool(end)).alias("on_target"), "offset", "timestamp", "hash")
            for end, rows in enumerate(both)
            if rows is not None
        ]
        return reduce(DataFrame.unionAll, given).coalesce(1) if given else None

    def _unmatched(self, items: Collection[WorkItem]) -> dict[tuple[int, ItemRow], Fingerprints]:
        """Return what no task has matched, by partition and cluster; memory is bounded, however much it is."""
        mine = {item: self._results[item] for item in items if item in self._results}
        total = sum(sum(each.unmatched) for each in mine.values())
        found = {(item.partition, kind): _Gathered(total <= MOST_IN_MEMORY) for item in items for kind in _KEPT}
        for item, each in mine.items():
            for kind, count in zip(_KEPT, each.unmatched, strict=True):
                found[item.partition, kind].count += count
        for some in _together(mine):
            frame = some[0][1].frame
            rows = _by_item(frame.where(f.col("item").isin([each.number for _, each in some]) & _is_kept()).toArrow())
            for item, each in some:
                for kind in _KEPT:
                    numbers = rows.get((each.number, kind))
                    if numbers is not None:
                        found[item.partition, kind].add(Fingerprints(*numbers.T).rising())
        return {each: gathered.log() for each, gathered in found.items()}


class _Gathered:
    """Records of one partition and cluster, in memory or in files."""

    def __init__(self, in_memory: bool) -> None:
        self.count = 0
        self._parts: list[Fingerprints] = []
        self._in_memory = in_memory
        self._spool: Spool | None = None

    def add(self, part: Fingerprints) -> None:
        """Take some, by rising offset."""
        if self._in_memory:
            self._parts.append(part)
        else:
            self._spool = self._spool or Spool(self.count)
            self._spool.add(part)

    def log(self) -> Fingerprints:
        """Return all of them."""
        return Fingerprints.joined(self._parts) if self._spool is None else self._spool.log()


def _together(results: Mapping[WorkItem, _ItemResult]) -> Iterator[list[tuple[WorkItem, _ItemResult]]]:
    """Yield results of one query, with unmatched records that may be in memory at once."""
    some: list[tuple[WorkItem, _ItemResult]] = []
    for item, each in results.items():
        if some and (some[0][1].frame is not each.frame or sum(sum(n.unmatched) for _, n in some) > _AT_ONCE):
            yield some
            some = []
        if sum(each.unmatched):
            some.append((item, each))
    if some:
        yield some


def _sample(rows: DataFrame | None, one_in: int) -> dict[int, Fingerprints]:
    if rows is None:
        return {}
    found = rows.where(f.col("hash") % one_in == 0).select("partition", "offset", "timestamp", "hash").toArrow()
    numbers, *columns = (longs(column) for column in found.columns)
    log = Fingerprints(*columns)
    return {int(each): log.at(np.flatnonzero(numbers == each)).rising() for each in np.unique(numbers)}


def _firsts(wanted: Longs, partitions: Longs, hashes: Longs, offsets: Longs) -> Iterator[tuple[int, Longs]]:
    for partition in np.unique(partitions).tolist():
        rows = partitions == partition
        first = np.full(len(wanted), -1, np.int64)
        first[np.searchsorted(wanted, hashes[rows])] = offsets[rows]
        yield partition, first


def _is_kept() -> Column:
    return f.col("kind").isin([str(kind) for kind in _KEPT])


def _by_item(table: pa.Table) -> dict[tuple[int, str], Longs]:
    """Return three numbers a row, by item and kind."""
    items = longs(table["item"])
    kinds = table["kind"].combine_chunks().dictionary_encode()
    codes = np.asarray(kinds.indices)
    numbers = np.stack([longs(table[name]) for name in ("first", "second", "third")], axis=1)
    found = {}
    for code, kind in enumerate(kinds.dictionary.to_pylist()):
        rows = np.flatnonzero(codes == code)
        for item in np.unique(items[rows]).tolist():
            found[item, kind] = numbers[rows[items[rows] == item]]
    return found


def _in_tasks(
    rows: DataFrame, function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], returned: str
) -> DataFrame:
    """Let each task give its rows to a function: ``mapInArrow``, which asks for pandas in the driver, without that."""
    udf = UserDefinedFunction(function, returnType=returned, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    column = udf(*(rows[name] for name in rows.columns))
    return DataFrame(rows._jdf.mapInArrow(column._jc, False, None), rows.sparkSession)

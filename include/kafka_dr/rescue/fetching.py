"""Fetches what another standby holds more, partition for partition, in the order of its log.

Records and ledger are in one transaction. Whoever fetches has taken over the transactional id before it reads the
ledger: a batch that an earlier process had begun is aborted by then, and one that it had committed is in the ledger. So
wherever a process dies, the next one continues with the first record that is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Protocol

from kafka_dr.clusters import OffsetRange, Record, TopicPartition
from kafka_dr.clusters.errors import ClusterError, WriterFenced
from kafka_dr.errors import KafkaDrError, Unanswered
from kafka_dr.rescue.fetch_ledger import FetchEntry
from kafka_dr.rescue.fitting import size_of

#: Limits of one transaction, so that it ends long before its timeout.
_MOST_RECORDS, _MOST_BYTES = 2_000, 4 * 1024 * 1024
#: Limits of what is read together. Partitions of which all is read are complete; of others that is not known.
_OFFSETS_TOGETHER, _PARTITIONS_TOGETHER = 20_000, 50
#: Why a record is left.
OVER = "the time for it was over"
TIMELESS = "a record without a time would get another one"


@dataclass(frozen=True, slots=True)
class WantedPart:
    """What is to be fetched of one partition.

    :param entry: what the ledger says; before anything was fetched, what it would say then
    :param end: where the donor's log ends
    :param reached: how far the target's copy has come when all of it is fetched, in the lost cluster's log
    """

    entry: FetchEntry
    end: int
    reached: int

    @property
    def left(self) -> OffsetRange:
        """What is not fetched yet, in the donor's log."""
        return OffsetRange(min(self.entry.next_offset, self.end), self.end)

    def continued(self, entry: FetchEntry | None) -> WantedPart:
        """Return what is wanted still, by what the ledger says now; an entry of another donor says nothing of this."""
        if entry is None or entry.donor != self.entry.donor:
            return self
        return replace(self, entry=entry if entry.reached == self.reached else replace(entry, reached=None))


class ReadDonor(Protocol):
    """Reads committed records of a donor."""

    def __call__(self, donor: str, ranges: Mapping[TopicPartition, OffsetRange]) -> Iterator[Record]:
        """Yield every record of the ranges, in order within each partition.

        :raises KafkaDrError: not all of them could be read
        """


class WriteBatch(Protocol):
    """Writes one batch to the target."""

    def __call__(
        self, records: Sequence[Record], entries: Mapping[TopicPartition, FetchEntry]
    ) -> Mapping[TopicPartition, int]:
        """Write records and ledger in one transaction.

        :returns: where the log of each partition ends then on the target
        :raises ClusterError: the target does not take these records; nothing was written
        :raises KafkaDrError: nothing more may be written now, or it is not known whether this was
        """


class Fetch:
    """One process fetches what is wanted, until all of it is there or the time is over.

    :param wanted: by partition; see :class:`WantedPart`
    :param in_time: whether another batch may be begun
    """

    def __init__(
        self,
        wanted: Mapping[TopicPartition, WantedPart],
        *,
        read: ReadDonor,
        write: WriteBatch,
        in_time: Callable[[], bool],
    ) -> None:
        self._wanted = dict(wanted)
        self._read = read
        self._write = write
        self._in_time = in_time
        #: Why a partition is not complete.
        self.left: dict[TopicPartition, str] = {}

    def run(self) -> None:
        """Fetch, small parts first: so most partitions are complete if the time does not suffice.

        :raises KafkaDrError: the target did not answer, or this process may not write any more
        """
        silent: dict[str, str] = {}
        for donor, partitions in parts_of(self._wanted):
            if why := silent.get(donor) or ("" if self._in_time() else OVER):
                self._leave(partitions, why)
                continue
            try:
                self._fetch(donor, partitions)
            except _NotRead as error:
                self._leave(partitions, str(error))
                if error.silent:
                    silent[donor] = str(error)
            except ClusterError as error:
                if isinstance(error, WriterFenced):
                    raise
                self._leave(partitions, str(error))

    def _leave(self, partitions: Iterable[TopicPartition], why: str) -> None:
        for p in partitions:
            if self._wanted[p].entry.reached is None:
                self.left.setdefault(p, why)

    def _fetch(self, donor: str, partitions: Sequence[TopicPartition]) -> None:
        batch: list[Record] = []
        size = 0
        with closing(self._records(donor, {p: self._wanted[p].left for p in partitions})) as records:
            for record in records:
                if record.topic_partition in self.left:
                    continue
                if record.timestamp_ms <= 0:
                    self.left[record.topic_partition] = TIMELESS
                    continue
                if not self._in_time():
                    self._leave(partitions, OVER)
                    return
                own = size_of(record.key, record.value, record.headers)
                if batch and (len(batch) == _MOST_RECORDS or size + own > _MOST_BYTES):
                    self._write_batch(batch, ())
                    batch, size = [], 0
                batch.append(record)
                size += own
        self._write_batch(batch, [p for p in partitions if p not in self.left])

    def _records(self, donor: str, ranges: Mapping[TopicPartition, OffsetRange]) -> Generator[Record, None, None]:
        try:
            yield from self._read(donor, ranges)
        except KafkaDrError as error:
            raise _NotRead(error) from error

    def _write_batch(self, batch: Sequence[Record], complete: Iterable[TopicPartition]) -> None:
        entries: dict[TopicPartition, FetchEntry] = {}
        for record in batch:
            p = record.topic_partition
            entry = entries.get(p, self._wanted[p].entry)
            entries[p] = replace(entry, next_offset=record.offset + 1, records=entry.records + 1)
        for p in complete:
            part = self._wanted[p]
            entries[p] = replace(entries.get(p, part.entry), next_offset=part.end, reached=part.reached)
        if not entries:
            return
        ends = self._write(batch, entries)
        for p, entry in entries.items():
            # The ledger gets it with the next batch; of the last one the log's end says it.
            entry = entry.reached_at(entry.next_offset, ends[p]) if p in ends else entry
            self._wanted[p] = replace(self._wanted[p], entry=entry)


class _NotRead(Exception):
    """A donor's records could not be read."""

    def __init__(self, error: KafkaDrError) -> None:
        self.silent = isinstance(error, Unanswered)
        super().__init__(str(error))


def parts_of(
    wanted: Mapping[TopicPartition, WantedPart],
) -> Iterator[tuple[str, Sequence[TopicPartition]]]:
    """Yield what is read together, each with its donor: small partitions first, and large ones alone."""
    for donor in sorted({each.entry.donor for each in wanted.values()}):
        part: list[TopicPartition] = []
        offsets = 0
        mine = [p for p, each in wanted.items() if each.entry.donor == donor and each.entry.reached is None]
        for p in sorted(mine, key=lambda p: (len(wanted[p].left), p)):
            own = len(wanted[p].left)
            if part and (len(part) == _PARTITIONS_TOGETHER or offsets + own > _OFFSETS_TOGETHER):
                yield donor, part
                part, offsets = [], 0
            part.append(p)
            offsets += own
        if part:
            yield donor, part

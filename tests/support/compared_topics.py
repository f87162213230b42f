"""Topics whose copies have everything wrong that an audit knows, as a fingerprint log without a cluster."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from copy_audit.partitions import PartitionOutcome
from jobs.checksum.plan import AuditPlan, PartitionAuditPlan
from jobs.checksum.ranges import ClusterRanges, ResolvedRanges
from jobs.checksum.state import AuditState, PartitionState, Scan
from kafka_dr.audit.copies import NO_TIMESTAMP
from kafka_dr.audit.corruption import Parts, Payload, PayloadOf
from kafka_dr.audit.difference import Suspects
from kafka_dr.clusters import OffsetRange, Topic, TopicPartition
from kafka_dr.register.port import History
from kafka_dr.register.quarantine import QUARANTINE, QuarantinedRange, quarantine_fact
from support.faulty_copy import Written
from support.topic_audits import end_of, hash_of

TOPIC, BEFORE, NOW = "orders", "before", "now"
_AT = datetime(2026, 3, 1, tzinfo=UTC)
#: A row of the fingerprint log.
LOG_ROWS = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("hash", pa.int64()),
        ("key", pa.int64()),
        ("stamped", pa.bool_()),
    ]
)


@dataclass(slots=True)
class ComparedHistory:
    """One topic on both clusters, what an audit before has settled of it, and what is known of the flow.

    :param gone: where both logs start after they were read
    """

    source: dict[int, list[Written]] = field(default_factory=dict)
    target: dict[int, list[Written]] = field(default_factory=dict)
    plans: dict[TopicPartition, PartitionAuditPlan] = field(default_factory=dict)
    before: dict[TopicPartition, tuple[tuple[int, int], tuple[int, int]]] = field(default_factory=dict)
    gone: tuple[dict[TopicPartition, int], dict[TopicPartition, int]] = field(default_factory=lambda: ({}, {}))
    positions: dict[TopicPartition, int] | None = None
    observed: bool = False
    held_back: set[TopicPartition] = field(default_factory=set)
    hidden: set[TopicPartition] = field(default_factory=set)
    left_out: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    @classmethod
    def make(cls, seed: int, *, partitions: int, records: int) -> ComparedHistory:
        """Make one.

        :param records: in each partition, about
        """
        chance = random.Random(seed)  # noqa: S311 - nothing secret
        made = cls(positions=chance.choice([None, {}, {}]))
        made.observed = made.positions is None and chance.random() < 0.5
        drafts: dict[int, list[Payload]] = {}
        for number in range(partitions):
            original = [_payload(chance, number, n) for n in range(chance.choice([0, records, records, records]))]
            for _ in range(chance.randint(0, 3)):  # equal records of the source
                original[-1:] = original[-1:] + original[len(original) // 3 :][: chance.randint(1, 3)]
            if chance.random() < 0.3:
                bare = chance.randrange(len(original) + 1)
                for n in range(bare, min(len(original), bare + records // 3)):
                    original[n] = replace(original[n], timestamp=NO_TIMESTAMP)
            made.source[number] = _at_offsets(chance, original)
            drafts[number] = _copied(chance, original)
        for _ in range(2 * partitions):  # another partition's, also such that are not lost there
            here, there = chance.choice(list(drafts.values())), chance.choice(list(drafts.values()))
            if here:
                at = chance.randrange(len(here))
                moved = here.pop(at) if chance.random() < 0.7 else here[at]
                there.insert(chance.randrange(len(there) + 1), moved)
        made.target = {number: _at_offsets(chance, draft) for number, draft in drafts.items()}
        for number in range(partitions):
            made._plan(chance, number)
        return made

    def _plan(self, chance: random.Random, number: int) -> None:
        """Let retention delete, let earlier audits have settled something, and let the flow be somewhere."""
        p = TopicPartition(TOPIC, number)
        source, target = self.source[number], self.target[number]
        starts = [chance.choice([0, 0, chance.randint(0, end_of(each) // 4)]) for each in (source, target)]
        ends = end_of(source), end_of(target)
        reach = resume = (0, 0)
        known = PartitionState(first_kept=(starts[0], starts[1]))
        first = not source or chance.random() < 0.5
        missing: tuple[tuple[int, int, int], ...] = ()
        if not first:
            row = chance.randrange(len(source))
            near = min(len(target), row)
            resume = source[row].offset, target[near].offset if near < len(target) else ends[1]
            reach = tuple(chance.randint(low, high) for low, high in zip(resume, ends, strict=True))  # type: ignore[assignment]
            lost = chance.sample(source[:row], min(row, 3))
            target += [Written(ends[1] + n, each.payload) for n, each in enumerate(lost[1:])]  # they come after all
            ends = end_of(source), end_of(target)
            missing = tuple(sorted((e.offset, e.payload.timestamp or 0, hash_of(e.payload)) for e in lost))
            known = PartitionState(resume, reach, (starts[0], starts[1]), missing=missing)
            self.before[p] = (resume[0] // 2, reach[0]), (resume[1] // 2, reach[1])
            starts = [max(start, each) for start, each in zip(starts, reach, strict=True)]
            if chance.random() < 0.3:  # deleted between two audits
                starts[0] = min(ends[0], starts[0] + chance.randint(0, 50))
        new = [OffsetRange(min(start, end), end) for start, end in zip(starts, ends, strict=True)]
        left_over = chance.choice([0, 0, 0, resume[1] + 5])
        self.plans[p] = PartitionAuditPlan(known, new[0], new[1], first, (), left_over)
        vanished = chance.choice([0, 0, starts[0] + chance.randint(0, 60)])
        self.gone[0][p], self.gone[1][p] = vanished, chance.choice([0, 0, starts[1] + 20])
        if vanished and chance.random() < 0.7:  # some of it was read in time
            self.source[number] = [e for e in source if not starts[0] <= e.offset < vanished or chance.random() < 0.8]
        if self.positions is not None:
            self.positions[p] = chance.choice([ends[0], ends[0] - 5, chance.randint(0, ends[0] + 1)])
        if chance.random() < 0.2:
            self.held_back.add(p)
        if chance.random() < 0.3:
            self.hidden.add(p)
        if chance.random() < 0.3:
            begin = chance.randint(0, ends[0])
            self.left_out[number] = [(begin, begin + 30), (begin + 35, begin + 36)]

    @property
    def plan(self) -> AuditPlan:
        """What is compared."""
        scans = (Scan(BEFORE, _AT, self.before),) if self.before else ()
        return AuditPlan(AuditState(("E", "W", 1), scans=scans), self.plans)

    @property
    def resolved(self) -> ResolvedRanges:
        """What was asked."""
        topics = {TOPIC: Topic(TOPIC, "id", (1,))}
        east = ClusterRanges("E", topics, {}, dict.fromkeys(self.hidden, 1))
        west = ClusterRanges("W", topics, {}, dict.fromkeys(self.held_back, 1))
        nothing: frozenset[str] = frozenset()
        return ResolvedRanges(_AT, east, west, self.positions, 1, nothing, (nothing, nothing), observed=self.observed)

    @property
    def history(self) -> History:
        """What a failback has quarantined."""
        ranges = [QuarantinedRange(TOPIC, number, *each) for number, some in self.left_out.items() for each in some]
        return {"run": {QUARANTINE: quarantine_fact("east", ranges, {TOPIC: "id"})}}

    def write(self, root: Path) -> None:
        """Write the log: several files of each partition, and another topic's records in one of them."""
        for end, logs in (("source", self.source), ("target", self.target)):
            for p, each in self.plans.items():
                new = each.source if end == "source" else each.target
                earlier = self.before.get(p, ((0, 0), (0, 0)))[end == "target"]
                records = logs[p.partition]
                for name, (start, stop) in ((BEFORE, earlier), (NOW, (new.start, new.end))):
                    folder = root / name / end
                    folder.mkdir(parents=True, exist_ok=True)
                    mine = [r for r in records if start <= r.offset < stop]
                    third = len(mine) // 3 + 1
                    for part in range(3):
                        rows = mine[part * third : (part + 1) * third]
                        _write(folder / f"part-{p.partition}-{part}.parquet", p.partition, rows, mixed=part == 1)

    def payloads(self, _suspects: Sequence[Suspects]) -> tuple[PayloadOf, PayloadOf]:
        """Look up what records hold."""
        here, there = (
            {(p, r.offset): r.payload for p, records in each.items() for r in records}
            for each in (self.source, self.target)
        )
        return lambda record: Parts.of(here[record.partition, record.offset]), lambda record: Parts.of(
            there[record.partition, record.offset]
        )

    def keys(self, partition: int, start: int, end: int) -> Mapping[int, bytes | None]:
        """Return the keys of the source."""
        return {r.offset: r.payload.key for r in self.source[partition] if start <= r.offset < end}


def numbers(outcome: PartitionOutcome) -> dict[str, Any]:
    """Return everything that an outcome says, as lists."""
    found = {each.name: getattr(outcome, each.name) for each in fields(outcome)}
    digests, missing = outcome.digests, outcome.missing
    assert digests is not None
    found["digests"] = [each.tolist() for each in (digests.minutes, digests.source, digests.target)]
    found["missing"] = [each.tolist() for each in (missing.offsets, missing.timestamps, missing.hashes)]
    return found


def _payload(chance: random.Random, partition: int, number: int) -> Payload:
    key = chance.choice([None, f"key-{chance.randrange(40)}".encode()])
    return Payload(
        key, f"{partition}-{number}-{chance.randrange(10**9)}".encode(), (), 20_000 * number // 7 + partition
    )


def _copied(chance: random.Random, original: Sequence[Payload]) -> list[Payload]:
    copied = list(original)
    for _ in range(chance.randint(0, 14) if copied else 0):
        at, length = chance.randrange(len(copied)), chance.choice([1, 1, 1, 2, 5, 30])
        match chance.randrange(7):
            case 0:  # lost
                del copied[at : at + length]
            case 1:  # foreign
                copied[at:at] = [Payload(b"alien", chance.randbytes(9), (), 5 * at) for _ in range(length)]
            case 2:  # in another order, however far
                some = copied[at : at + length]
                del copied[at : at + length]
                to = chance.randrange(len(copied) + 1)
                copied[to:to] = some
            case 3:  # again
                to = chance.randrange(len(copied) + 1)
                copied[to:to] = copied[at : at + length]
            case 4 | 5:  # changed
                for n in range(at, min(len(copied), at + length)):
                    copied[n] = replace(copied[n], value=chance.randbytes(7))
            case _:
                copied[at] = replace(copied[at], timestamp=(copied[at].timestamp or 0) + 1)
        if not copied:
            break
    if chance.random() < 0.5:  # on its way
        del copied[len(copied) - chance.randint(0, 40) :]
    return copied


def _at_offsets(chance: random.Random, payloads: Sequence[Payload]) -> list[Written]:
    offset, found, markers = 0, [], chance.choice([0.0, 0.02, 0.2])
    for payload in payloads:
        offset += 1 if chance.random() < markers else 0
        found.append(Written(offset, payload))
        offset += 1
    return found


def _write(path: Path, partition: int, records: Sequence[Written], *, mixed: bool) -> None:
    rows = [(TOPIC, partition, r.offset, r.payload.timestamp, hash_of(r.payload), None, False) for r in records]
    if mixed:  # of a topic that nobody asked for, with the same records
        rows += [("refunds", *row[1:]) for row in rows[:20]]
    if rows:
        columns = dict(zip(LOG_ROWS.names, map(list, zip(*rows, strict=True)), strict=True))
        pq.write_table(pa.table(columns, LOG_ROWS), path, row_group_size=100)

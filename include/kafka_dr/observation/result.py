"""What one look at a flow found: one result, one sentence. Unknown is never good. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from kafka_dr.audit.difference import Difference
from kafka_dr.audit.settled import SettledPartition
from kafka_dr.counted import counted
from kafka_dr.observation.audited import JoinedPartition
from kafka_dr.observation.comparison import PartitionComparison
from kafka_dr.observation.groups import PLAIN, GroupPosition, at_best, by_group
from kafka_dr.observation.meaning import counted_as
from kafka_dr.positions import TopicPartition
from kafka_dr.readers.covered import CoveredReader

ObservationVerdict = Literal["ok", "warning", "failed", "unknown"]
#: Kinds of records that make a copy bad, doubtful, or unknown.
_BAD = ("lost", "late", "corrupted", "reordered", "moved", "foreign", "aborted")
_DOUBTFUL = ("duplicated", "expired_on_target")
_UNKNOWN = ("unexplained", "not_read")
_NO_FAULT = ("in_flight", "undecided", "compacted", "expired_on_source", "not_read")
#: So many differences are shown one by one, the worst ones first; the counts are of all.
_MOST_FINDINGS = 200
_ORDER = (*_BAD, *_DOUBTFUL, *_UNKNOWN)
#: Kinds that come in many runs: of more than so many in one partition the page shows the first, and counts all.
_IN_MANY_RUNS, _MOST_RUNS = ("aborted", "duplicated", "expired_on_target", "unexplained"), 3
#: More groups than this are only counted in a sentence.
_MOST_NAMES = 3
#: What a kind means, for who reads it for the first time.
_MEANINGS = {
    "lost": "later records have a copy, this one has none",
    "late": "not copied, for longer than late_after_seconds",
    "foreign": "a record on the target with no source record",
    "reordered": "its copy is before or after those of its neighbours",
    "duplicated": "copied once more",
}


@dataclass(frozen=True, slots=True)
class FlowObservation:
    """What one look found.

    :param clusters: the name of the source and of the target
    :param cluster_ids: the ids that they reported
    :param left_out: by partition, why it was not compared
    :param configuration: what differs between settings, as JSON
    :param retention: for how long the source keeps what is not copied, as JSON
    :param not_looked_at: a sentence for each thing that was not looked at
    :param settled: what checksum audits have settled of partitions
    :param audited_at: when the newest of them read the ends of the logs; ``None`` if there was none
    :param audits: the newest result of each audit and canary, as JSON
    :param readers: the groups of the flow that need more than a moved offset
    :param held_back: what open transactions on the source hold back, in a sentence; empty if nothing
    """

    flow: str
    at: datetime
    clusters: tuple[str, str]
    cluster_ids: tuple[str, str]
    compared: Mapping[TopicPartition, PartitionComparison]
    left_out: Mapping[TopicPartition, str]
    positions: Sequence[GroupPosition]
    configuration: Sequence[Mapping[str, Any]]
    retention: Sequence[Mapping[str, Any]]
    not_looked_at: Sequence[str]
    settled: Mapping[TopicPartition, SettledPartition] = field(default_factory=dict)
    audited_at: datetime | None = None
    audits: Sequence[Mapping[str, Any]] = ()
    readers: Sequence[CoveredReader] = ()
    held_back: str = ""

    @property
    def groups(self) -> list[dict[str, Any]]:
        """One row for each group, as JSON."""
        return by_group(self.positions, self.readers)

    @property
    def reader_rows(self) -> list[dict[str, Any]]:
        """One row for each group that needs more than a moved offset, as JSON, with what its owners have to do."""
        verdicts = {row["group"]: row["verdict"] for row in self.groups}
        return [_reader_row(each, verdicts.get(each.group)) for each in self.readers]

    @property
    def joined(self) -> Mapping[TopicPartition, JoinedPartition]:
        """What is known of each partition, by the look and by audits."""
        partitions = sorted(self.compared.keys() | self.left_out.keys())
        return {p: JoinedPartition(self.compared.get(p), self.settled.get(p)) for p in partitions}

    @property
    def counts(self) -> Counter[str]:
        """How many records of each kind all partitions have."""
        found: Counter[str] = Counter()
        for each in self.joined.values():
            found.update(each.counts)
        return found

    @property
    def verdict(self) -> ObservationVerdict:
        """``failed`` if anything is wrong; else ``unknown`` if anything is; else ``warning`` or ``ok``."""
        said = {
            *(_partition_verdict(each) for p, each in self.joined.items() if p in self.compared),
            *(row["verdict"] for row in (*self.groups, *self.configuration, *self.retention)),
            *(row["verdict"] for row in self.reader_rows),
        }
        if "failed" in said or any(self.counts[kind] for kind in _BAD):
            return "failed"
        if "unknown" in said or self.left_out or self.not_looked_at or not self.compared:
            return "unknown"
        return "warning" if "warning" in said else "ok"

    @property
    def sentence(self) -> str:
        """What a failover by the existing copy and positions would cost now."""
        counts, groups = self.counts, self.groups
        lost = counts["lost"] + counts["late"] + counts["in_flight"]
        least = "at least " if self._loss_is_a_bound else ""
        again = sum(row["again"] or 0 for row in groups)
        at_least = "at least " if any(row["again"] is None for row in groups) else ""
        moved = f"If you failed over from {self.clusters[0]} to {self.clusters[1]} now, by what you have"
        said = f"{moved}, you would lose {least}{_records(lost)} and deliver {at_least}{_records(again)} again"
        if self._compared_nothing:
            said = f"{moved}, it is not known what you would lose, because no record could be compared"
        said = f"{said}; {_skipping(groups)}"
        return ". ".join((said, *self._more(counts, groups))) + "."

    @property
    def _loss_is_a_bound(self) -> bool:
        return bool(self.left_out or self.counts["not_read"] or self.counts["unexplained"] or not self.compared)

    @property
    def _compared_nothing(self) -> bool:
        read = any(each.source.records or each.target.records for each in self.compared.values())
        return not read and not any(each.coverage.verified for each in self.settled.values())

    def _more(self, counts: Counter[str], groups: Sequence[Mapping[str, Any]]) -> list[str]:
        kinds = (
            _number(counts["duplicated"], "second copy", "second copies"),
            _number(
                counts["corrupted"], "copy that differs from its original", "copies that differ from their originals"
            ),
            _number(counts["reordered"], "copy in another order", "copies in another order"),
            _number(counts["moved"], "copy in another partition", "copies in another partition"),
            _number(counts["foreign"], "record without an original", "records without an original"),
            _number(counts["aborted"], "copy of an aborted record", "copies of aborted records"),
        )
        waiting = counts["late"] + counts["in_flight"]
        said = {
            "Of the records that you would lose, these are only not copied yet": f"{waiting:,}" if waiting else "",
            f"On {self.clusters[1]} there are also": ", ".join(filter(None, kinds)),
            f"Expired on {self.clusters[1]} and not on {self.clusters[0]}": counts["expired_on_target"],
            "Settings that must be equal and differ": sum(row["verdict"] == "failed" for row in self.configuration),
            "Other settings that differ": sum(row["verdict"] == "warning" for row in self.configuration),
            "Partitions that were not compared, and of which nothing is known": len(self.left_out),
        }
        sentences = [f"{words}: {found}" for words, found in said.items() if found]
        if self.held_back:
            sentences.append(f"On {self.clusters[0]} {self.held_back}; the loss does not count what may be aborted")
        if self.audited_at is not None and self.settled:
            verified = sum(each.coverage.verified for each in self.settled.values())
            at = f"{self.audited_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
            sentences.append(
                f"This covers what the checksum audit of {at} compared; it verified {counted(verified, 'record')}"
            )
        lost = [row["group"] for row in groups if row["partitions_without_position"]]
        if lost:
            sentences.append(f"{_named(lost)} would find no position there, and auto.offset.reset would decide")
        if kept := {each.group for each in self.positions if each.metadata != "none"}:
            wrong = [row["group"] for row in groups if row["metadata_wrong"]]
            there = f"there it is missing or not right for {_named(wrong)}" if wrong else "there it is as it should be"
            sentences.append(f"{_number(len(kept), 'group keeps', 'groups keep')} metadata with offsets; {there}")
        if more := [f"{each.group} ({each.called})" for each in self.readers if each.best == "unknown"]:
            sentences.append(f"An offset alone does not say whether these can resume: {_named(more)}")
        return sentences

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON."""
        partitions = [_partition_row(each, self.joined[p]) for p, each in sorted(self.compared.items())]
        findings = [row for _, each in sorted(self.compared.items()) for row in _findings(each)]
        findings.sort(key=lambda row: _ORDER.index(row["kind"]))
        groups, readers = self.groups, {each.group: each for each in self.readers}
        return {
            "schema_version": 1,
            "flow": self.flow,
            "at": self.at.isoformat(),
            "verdict": self.verdict,
            "sentence": self.sentence,
            "source": {"name": self.clusters[0], "cluster_id": self.cluster_ids[0]},
            "target": {"name": self.clusters[1], "cluster_id": self.cluster_ids[1]},
            "not_looked_at": list(self.not_looked_at),
            "audits": [dict(row) for row in self.audits],
            "totals": {"records_read_on_source": sum(row["read"] for row in partitions), **_all_counts(self.counts)},
            "groups": groups,
            "readers": self.reader_rows,
            "groups_by_kind": _by_kind(groups, self.readers),
            "partitions": partitions,
            "partitions_left_out": [
                {
                    "topic": p.topic,
                    "partition": p.partition,
                    "verdict": "unknown",
                    "reason": why,
                    **_audited(self.joined[p]),
                }
                for p, why in sorted(self.left_out.items())
            ],
            "findings": findings[:_MOST_FINDINGS],
            "findings_not_shown": len(findings[_MOST_FINDINGS:]),
            "configuration": [dict(row) for row in self.configuration],
            "retention": [dict(row) for row in self.retention],
            "group_positions": [
                each.to_json() | {"verdict": at_best(each.verdict, readers.get(each.group))} for each in self.positions
            ],
        }


def _partition_verdict(joined: JoinedPartition) -> ObservationVerdict:
    counts = joined.counts
    if any(counts[kind] for kind in _BAD):
        return "failed"
    if any(counts[kind] for kind in _UNKNOWN) or not joined.whole:
        return "unknown"
    return "warning" if any(counts[kind] for kind in _DOUBTFUL) else "ok"


def _all_counts(counts: Counter[str]) -> dict[str, int]:
    order = dict.fromkeys((*_BAD, *_DOUBTFUL, *_UNKNOWN, *_NO_FAULT))
    return {kind: counts[kind] for kind in order}


def _partition_row(compared: PartitionComparison, joined: JoinedPartition) -> dict[str, Any]:
    source, target = compared.source, compared.target
    return {
        "topic": compared.partition.topic,
        "partition": compared.partition.partition,
        "verdict": _partition_verdict(joined),
        "read": len(source.records),
        "equal": compared.equal,
        "equal_until": compared.equal_until,
        "source_end": source.held.end,
        "target_end": target.held.end,
        "offsets_not_read": 0 if joined.covers_older else source.read.start - source.held.start,
        **_audited(joined),
        **{kind: count for kind, count in _all_counts(joined.counts).items() if kind != "not_read"},
    }


def _reader_row(reader: CoveredReader, verdict: str | None) -> dict[str, Any]:
    """Return a reader as a row.

    :param verdict: on its positions; ``None`` if it has none, which is never good
    """
    row = reader.to_json()
    return {"group": row["group"], "verdict": verdict or at_best("warning", reader), **row}


def _by_kind(groups: Sequence[Mapping[str, Any]], readers: Sequence[CoveredReader]) -> dict[str, int]:
    """Return how many groups of each kind were looked at."""
    kinds = {each.group: each.called for each in readers} | {row["group"]: row["kind"] for row in groups}
    return dict(sorted(Counter(kinds.values()).items(), key=lambda each: (each[0] != PLAIN, each[0])))


def _audited(joined: JoinedPartition) -> dict[str, int]:
    """Return how far audits have settled a partition; nothing if there was none."""
    settled = joined.settled
    return {} if settled is None else {"audited_until": settled.until[0], "verified": settled.coverage.verified}


def _findings(compared: PartitionComparison) -> list[dict[str, Any]]:
    """Return the differences of a partition, in runs; many runs of a kind that needs no exact offsets as one row."""
    rows = _each_run(compared)
    runs = Counter(row["kind"] for row in rows)
    joined: dict[str, dict[str, Any]] = {}
    found = []
    for row in rows:
        kind = row["kind"]
        if kind not in _IN_MANY_RUNS or runs[kind] <= _MOST_RUNS:
            found.append(row)
        elif kind in joined:
            joined[kind]["count"] += row["count"]
        else:
            joined[kind] = row | {
                "detail": f"{row['detail']}; {counted(runs[kind], 'run')}, of which this is the first"
            }
            found.append(joined[kind])
    return found


def _each_run(compared: PartitionComparison) -> list[dict[str, Any]]:
    return [
        {
            "topic": compared.partition.topic,
            "partition": compared.partition.partition,
            "kind": counted_as(each),
            "detail": _detail(each),
            "source_offset": each.source_offset,
            "target_offset": each.target_offset,
            "count": each.count,
        }
        for each in compared.differences
        if counted_as(each) not in _NO_FAULT
    ]


def _detail(each: Difference) -> str:
    if each.kind.startswith("CORRUPT"):
        changed = f"another {each.kind.removeprefix('CORRUPT_').lower()} than the original"
        return ", ".join(filter(None, (changed, each.detail)))
    return each.detail or _MEANINGS.get(counted_as(each), "")


def _skipping(groups: Sequence[Mapping[str, Any]]) -> str:
    skipping = [f"{row['group']} ({row['skipped']:,})" for row in groups if row["skipped"]]
    unknown = [row["group"] for row in groups if row["skipped"] is None]
    said = f"{_named(skipping)} would skip unread records" if skipping else "no group is known to skip unread records"
    if not skipping and not unknown and groups:
        said = "no group would skip unread records"
    if not groups:
        said = "no consumer group was looked at"
    return f"{said}; of {_named(unknown)} it is not known" if unknown else said


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    return f"{shown} and {len(names) - _MOST_NAMES} more groups" if len(names) > _MOST_NAMES else shown


def _records(count: int) -> str:
    return _number(count, "record", "records") or "0 records"


def _number(count: int, one: str, more: str) -> str:
    """Return a count with its noun; nothing for none."""
    return f"{count:,} {one if count == 1 else more}" if count else ""

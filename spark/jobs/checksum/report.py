"""What a checksum audit reports: for programs, for people, and for the gate of a failover."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from copy_audit.digests import Digests
from jobs.checksum.report_tables import digests_table, findings_parquet, map_table, parquet
from kafka_dr.audit.coverage import Coverage, total
from kafka_dr.audit.difference import REPEATED, Difference
from kafka_dr.audit.finding import FindingKind
from kafka_dr.audit.kept_map import MapKey
from kafka_dr.audit.offset_runs import OffsetRun, spread
from kafka_dr.clusters import TopicPartition
from kafka_dr.json_documents import write_whole
from kafka_dr.positions import CountedRange

SCHEMA_VERSION = 1
#: Findings that ``report.json`` has in words; ``findings.jsonl`` has all of them.
_NAMED = 20


@dataclass(frozen=True, slots=True)
class PartitionReport:
    """What is reported about one partition.

    :param differences: found by this audit
    :param open: all open findings, also of earlier audits: how many records, by kind
    :param frontier: next to verify, on the source and on the target
    :param end: of the source: next to be written
    :param unverified_since: the timestamp of the first unverified record, in ms; ``None`` if all are verified that are
        acknowledged
    :param hidden: offsets that an open transaction hides, on the source and on the target
    :param copied: next after the last record of the source with a copy, and next after what was read of the target
    :param displaced: ranges of records that are in another order, on the source and on the target
    :param second_copies: ranges of the target with records that it holds a second time
    :param digests: by minute, of what this audit settled
    """

    partition: TopicPartition
    differences: tuple[Difference, ...]
    open: Mapping[str, int]
    coverage: Coverage
    frontier: tuple[int, int]
    end: int
    unverified_since: int | None
    hidden: Mapping[str, Mapping[str, int]]
    runs: tuple[OffsetRun, ...]
    copied: tuple[int, int] = (0, 0)
    displaced: tuple[tuple[tuple[int, int], tuple[int, int]], ...] = ()
    second_copies: tuple[CountedRange, ...] = ()
    digests: Digests | None = None

    @property
    def unverified_offsets(self) -> int:
        """How many offsets of the source are not verified, those after an open transaction included."""
        return self.end - self.frontier[0] + self.hidden.get("source", {}).get("offsets", 0)

    def verified_rpo_seconds(self, at: datetime) -> float:
        """Return the age of the first unverified record; 0 if all are verified."""
        since = self.unverified_since
        return 0.0 if since is None else max(0.0, round(at.timestamp() - since / 1000, 3))

    def to_json(self, at: datetime) -> dict[str, Any]:
        """Return the partition for ``report.json``.

        :param at: when the source's ends were read
        """
        return {
            "partition": self.partition.partition,
            "verdict": "findings" if self.open else "equal",
            "counts": dict(self.open),
            "coverage": self.coverage.to_json(),
            "frontier": {"source_offset": self.frontier[0], "target_offset": self.frontier[1]},
            "copied": {"source_offset": self.copied[0], "target_offset": self.copied[1]},
            "pairs": [list(pair) for pair in spread(self.runs)],
            "displaced": [[list(source), list(target)] for source, target in self.displaced],
            "second_copies": [list(each) for each in self.second_copies],
            "verified_rpo_records": self.unverified_offsets,
            "verified_rpo_seconds": self.verified_rpo_seconds(at),
            "held_back": dict(self.hidden),
            "minutes": None
            if self.digests is None
            else {"compared": len(self.digests.minutes), "differing": self.digests.differing},
        }


@dataclass(frozen=True, slots=True)
class ChecksumReport:
    """The whole audit.

    :param topic_ids: on the source and on the target
    :param failure: why the result is unknown; empty if it is known
    :param duplicates_fail: whether records that were copied twice make the audit red
    :param restamped: topics whose timestamps are not compared
    :param times_lost: why not; empty if there are none
    :param left_out: a sentence for each thing that was not looked at; while there is one, the flow is not equal
    :param cautions: a sentence for each thing that is not known of what was looked at
    :param copies: by topic, what its copy is called, where that is another name
    :param complete: by topic, up to when everything that the source had is verified on the target
    :param bounded: whether only records of certain times or offsets were compared
    """

    flow: str
    epoch: int | None
    at: datetime
    full: bool
    partitions: tuple[PartitionReport, ...]
    topic_ids: Mapping[str, tuple[str, str]]
    self_test: Sequence[str]
    failure: str
    duplicates_fail: bool
    seconds: Mapping[str, float]
    records_read: int
    log_bytes: int
    restamped: frozenset[str] = frozenset()
    times_lost: str = ""
    left_out: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    copies: Mapping[str, str] = field(default_factory=dict)
    complete: Mapping[str, datetime] = field(default_factory=dict)
    bounded: bool = False

    @property
    def counts(self) -> Counter[str]:
        """How many records have an open finding, by kind."""
        counts: Counter[str] = Counter()
        for partition in self.partitions:
            counts.update(partition.open)
        return counts

    @property
    def verdict(self) -> str:
        """``equal``, ``findings`` or ``unknown``."""
        if self.failure:
            return "unknown"
        tolerated = set() if self.duplicates_fail else {str(each) for each in REPEATED}
        if set(self.counts) - tolerated:
            return "findings"
        return "unknown" if self.left_out else "equal"

    @property
    def came_late(self) -> int:
        """How many records have come that had been reported lost."""
        return sum(found.count for each in self.partitions for found in each.differences if _came_late(found))

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if self.failure:
            return self.failure
        said = ", ".join(f"{count} {kind}" for kind, count in sorted(self.counts.items()))
        verified = total(p.coverage for p in self.partitions).sentence
        if late := self.came_late:
            verified += f", {late} that were reported lost came late"
        for more in filter(None, (self.times_lost, *self.cautions, self._not_looked_at)):
            verified += f". {more}"
        return f"{said}; {verified}" if said else f"every compared record is equal: {verified}"

    @property
    def _not_looked_at(self) -> str:
        more = f" (and {len(self.left_out) - 1} more)" if len(self.left_out) > 1 else ""
        return f"Not looked at: {self.left_out[0]}{more}" if self.left_out else ""

    def to_json(self) -> dict[str, Any]:
        """Return ``report.json``."""
        topics = []
        for topic in sorted({p.partition.topic for p in self.partitions}):
            of_topic = [p for p in self.partitions if p.partition.topic == topic]
            counts: Counter[str] = Counter()
            for each in of_topic:
                counts.update(each.open)
            topics.append(
                {
                    "topic": topic,
                    **({"copy": self.copies[topic]} if topic in self.copies else {}),
                    "topic_ids": {"source": self.topic_ids[topic][0], "target": self.topic_ids[topic][1]},
                    "verdict": "findings" if counts else "equal",
                    "counts": dict(counts),
                    "times": "lost" if topic in self.restamped else "compared",
                    "coverage": total(p.coverage for p in of_topic).to_json(),
                    **({"complete_up_to": _stamp(self.complete[topic])} if topic in self.complete else {}),
                    "partitions": [p.to_json(self.at) for p in of_topic],
                }
            )
        return {
            "schema_version": SCHEMA_VERSION,
            "flow": self.flow,
            "epoch": self.epoch,
            "at": _stamp(self.at),
            "full": self.full,
            "bounded": self.bounded,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "counts": dict(self.counts),
            "coverage": total(p.coverage for p in self.partitions).to_json(),
            "verified_rpo_records": sum(p.unverified_offsets for p in self.partitions),
            "verified_rpo_seconds": max((p.verified_rpo_seconds(self.at) for p in self.partitions), default=0.0),
            "findings": [{"sentence": self._in_words(found)} for found in islice(self._named(), _NAMED)],
            **({"not_looked_at": list(self.left_out)} if self.left_out else {}),
            "self_test": {"passed": not self.self_test, "missed": list(self.self_test)},
            "records_read": self.records_read,
            "log_bytes": self.log_bytes,
            "seconds": dict(self.seconds),
            "topics": topics,
        }

    def findings(self) -> Iterator[dict[str, Any]]:
        """Yield what this audit found, as lines of ``findings.jsonl``."""
        for partition in self.partitions:
            for found in partition.differences:
                yield {
                    "kind": str(found.kind),
                    "topic": partition.partition.topic,
                    "partition": found.partition,
                    "source_offset": found.source_offset,
                    "target_offset": found.target_offset,
                    "count": found.count,
                    "timestamp": found.timestamp,
                    "detail": found.detail,
                }

    def _named(self) -> Iterator[dict[str, Any]]:
        return (found for found in self.findings() if found["kind"] != FindingKind.IN_FLIGHT)

    def _in_words(self, found: Mapping[str, Any]) -> str:
        copy = self.copies.get(found["topic"])
        of_copy = {"source": "", "target": f" of {copy}" if copy else ""}
        where = [
            f"{cluster} offset {found[f'{cluster}_offset']}{name}"
            for cluster, name in of_copy.items()
            if found[f"{cluster}_offset"] is not None
        ]
        records = "one record" if found["count"] == 1 else f"{found['count']} records from this offset on"
        detail = f" ({found['detail']})" if found["detail"] else ""
        return f"{found['kind']}: {found['topic']}-{found['partition']}, {', '.join(where)}: {records}{detail}"

    def offset_map(self) -> dict[MapKey, list[OffsetRun]]:
        """Return the runs that this audit adds to the offset map."""
        return {
            MapKey(self.epoch or 0, *self.topic_ids[p.partition.topic], p.partition.topic, p.partition.partition): list(
                p.runs
            )
            for p in self.partitions
            if p.runs
        }

    def write(self, out: Any) -> None:
        """Write all files into a folder; ``report.json`` is last, so that it exists only if the others do."""
        lines = (f"{json.dumps(each)}\n".encode() for each in self.findings())
        write_whole(out.joinpath("findings.jsonl"), lines)
        write_whole(out.joinpath("findings", "part-0.parquet"), findings_parquet(self.findings()))
        write_whole(
            out.joinpath("digests", "part-0.parquet"),
            parquet(digests_table({each.partition: each.digests for each in self.partitions})),
        )
        write_whole(out.joinpath("offset_map", "part-0.parquet"), parquet(map_table(self.offset_map())))
        write_whole(out.joinpath("report.json"), (json.dumps(self.to_json(), indent=1) + "\n").encode())


def counted(differences: Iterable[Difference]) -> dict[str, int]:
    """Count records by kind; a record in flight is not a finding, and one that came late no longer is."""
    counts: Counter[str] = Counter()
    for found in differences:
        if found.kind is not FindingKind.IN_FLIGHT and not _came_late(found):
            counts[str(found.kind)] += found.count
    return dict(counts)


def _came_late(found: Difference) -> bool:
    return found.kind is FindingKind.LATE and found.target_offset is not None


def _stamp(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()

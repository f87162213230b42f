"""What the checksum audit of a take over says about the copy that the existing replication has made.

The audit compares everything from the beginning while that replication runs. What it found is shown to the approver, by
topic and kind, and approved as it is. Above the point up to which it saw copies, nothing is known: what is there is
compared again when the replication is stopped.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from kafka_dr.audit.counted_ranges import MOST_RANGES, gathered
from kafka_dr.audit.finding import FindingKind
from kafka_dr.audit.proof import report_path
from kafka_dr.audit.result import AuditKind, ResultStore, ResultUnreadable
from kafka_dr.causes import cause
from kafka_dr.codec import decode
from kafka_dr.errors import NeedsPerson, Refused
from kafka_dr.positions import CountedRange, SeedPoint, TopicPartition
from kafka_dr.register.taken_over import SECOND_COPIES, CopyMade, Displaced
from kafka_dr.replication.flow import Flow

#: What is on its way to the target, which is no fault of the copy.
_ON_ITS_WAY = (FindingKind.IN_FLIGHT, FindingKind.LATE)
#: How many copies in another order a take over can keep apart; each is compared with every translated offset below it.
MOST_DISPLACED = 1_000
#: The folder of a report, as a person may call it: the time in UTC, the run, the try.
_EXAMPLE = "20260131T120000Z.by_hand.1"
#: Ranges with second copies that are journaled, of all partitions together: a fact of the register is read whole.
MOST_JOURNALED = 4_096


@dataclass(frozen=True, slots=True)
class AuditedCopy:
    """The copy, as one audit of all of it found it.

    :param at: when the ends of the logs were read
    :param ended_at: when it had compared them
    :param report: the folder of its report, below the evidence root
    :param sha256: of the report and of its findings
    :param verdict: ``equal``, ``findings`` or ``unknown``
    :param whole: whether the audit began at the start of the logs
    :param topic_ids: of the topics, on the source and on the target
    :param copied: by partition, next after the last record with a copy, and next after what was read of the target
    :param pairs: by partition, some offsets of records and of their copies
    :param findings: how many records, by topic and kind
    :param examples: a sentence for each of the first findings
    :param displaced: what is in another order
    :param second_copies: by partition, where the target holds records a second time
    """

    at: datetime
    ended_at: datetime
    report: str
    sha256: str
    verdict: str
    sentence: str
    whole: bool
    topic_ids: Mapping[str, tuple[str, str]]
    copied: Mapping[TopicPartition, SeedPoint]
    pairs: Mapping[TopicPartition, Sequence[SeedPoint]] = field(repr=False)
    findings: Mapping[str, Mapping[str, int]]
    examples: tuple[str, ...] = ()
    displaced: tuple[Displaced, ...] = ()
    second_copies: Mapping[TopicPartition, Sequence[CountedRange]] = field(default_factory=dict)

    def as_approved(self) -> CopyMade:
        """Return what is journaled of it when it is approved."""
        most = max(1, min(MOST_RANGES, MOST_JOURNALED // max(1, len(self.second_copies))))
        return CopyMade(
            at=self.at.isoformat(),
            report=self.report,
            sha256=self.sha256,
            topic_ids={topic: ids[0] for topic, ids in self.topic_ids.items()},
            compared=self.copied,
            pairs=self.pairs,
            findings=self.findings,
            displaced=self.displaced,
            second_copies={p: gathered(found, most) for p, found in self.second_copies.items()},
        )

    @property
    def counts(self) -> Counter[str]:
        """How many records have a finding, by kind."""
        found: Counter[str] = Counter()
        for kinds in self.findings.values():
            found.update(kinds)
        return found


def audited_copy(root: Any, flow: Flow) -> AuditedCopy:
    """Read the newest checksum audit of a flow that this project does not run yet.

    :param root: the evidence root
    :raises Refused: there is none, or it is about a flow that was adopted
    :raises NeedsPerson: its report cannot be read
    """
    try:
        result = ResultStore(root).newest(AuditKind.CHECKSUM, group=flow.group, source=flow.source, target=flow.target)
    except ResultUnreadable as error:
        raise NeedsPerson(f"the newest checksum audit of {flow} cannot be read: {error}. Audit again") from error
    if result is None:
        raise Refused(
            f"no checksum audit has compared the copy of {flow} yet: run the task audit of dr_adopt. Without Airflow: "
            "KAFKA_DR_SECRETS_FILE=secrets.json spark-submit spark/jobs/checksum_audit.py --topology FILE --flow "
            f"{flow.group}.{flow.source}-to-{flow.target} --full --out EVIDENCE_ROOT/{_folder(flow, _EXAMPLE)}"
        )
    if result.epoch is not None:
        raise Refused(
            f"the newest checksum audit of {flow} is about a flow of this project (epoch {result.epoch}), and not "
            "about the existing replication: audit again, in full"
        )
    try:
        folder = report_path(result).rpartition("/")[0]
    except ValueError as error:
        raise Refused(cause(error)) from error
    try:
        report, findings = (root.joinpath(folder, name).read_bytes() for name in ("report.json", "findings.jsonl"))
    except FileNotFoundError as error:
        raise Refused(
            f"the report of the newest checksum audit of {flow} is gone ({cause(error)}): audit again"
        ) from error
    try:
        return _read(folder, report, findings)
    except (KeyError, ValueError, TypeError) as error:
        raise NeedsPerson(
            f"the report of the checksum audit in {folder} cannot be read ({cause(error)}): audit again"
        ) from error


def _folder(flow: Flow, stamp: str) -> str:
    return f"audits/{flow.group}/{AuditKind.CHECKSUM}/{flow.source}-to-{flow.target}/{stamp}"


def _read(folder: str, report: bytes, lines: bytes) -> AuditedCopy:
    said = json.loads(report)
    at = datetime.fromisoformat(said["at"])
    copied: dict[TopicPartition, SeedPoint] = {}
    pairs: dict[TopicPartition, Sequence[SeedPoint]] = {}
    displaced: list[Displaced] = []
    for topic in said["topics"]:
        for each in topic["partitions"]:
            partition = TopicPartition(str(topic["topic"]), int(each["partition"]))
            until = each["copied"]
            copied[partition] = SeedPoint(int(until["source_offset"]), int(until["target_offset"]))
            pairs[partition] = tuple(SeedPoint(int(source), int(target)) for source, target in each["pairs"])
            displaced += decode(tuple[Displaced, ...], [[*partition, *ranges] for ranges in each["displaced"]])
    found = list(_findings(lines, copied))
    repeated = _second_copies(said)
    counts: dict[str, Counter[str]] = {}
    for each in found:
        counts.setdefault(each["topic"], Counter())[each["kind"]] += int(each["count"])
    return AuditedCopy(
        at=at,
        ended_at=at + timedelta(seconds=float(said.get("seconds", {}).get("total", 0.0))),
        report=folder,
        sha256=hashlib.sha256(report + lines).hexdigest(),
        verdict=str(said["verdict"]),
        sentence=str(said["sentence"]),
        whole=bool(said["full"]),
        topic_ids={str(t["topic"]): (t["topic_ids"]["source"], t["topic_ids"]["target"]) for t in said["topics"]},
        copied=copied,
        pairs=pairs,
        findings={topic: dict(sorted(kinds.items())) for topic, kinds in sorted(counts.items())},
        examples=tuple(_in_words(each) for each in found[:_MOST_EXAMPLES]),
        displaced=tuple(displaced),
        second_copies={p: ranges for p, ranges in repeated.items() if ranges},
    )


def _second_copies(said: Mapping[str, Any]) -> dict[TopicPartition, list[CountedRange]]:
    """Return where the target holds records a second time."""
    return {
        TopicPartition(str(topic["topic"]), int(each["partition"])): [
            CountedRange(*map(int, row)) for row in each[SECOND_COPIES]
        ]
        for topic in said["topics"]
        for each in topic["partitions"]
    }


#: Findings that are shown in words; the report has all of them.
_MOST_EXAMPLES = 20


def _findings(lines: bytes, copied: Mapping[TopicPartition, SeedPoint]) -> Iterator[Mapping[str, Any]]:
    """Yield the findings that are faults of the copy: not what may still be copied."""
    for line in lines.splitlines():
        each = json.loads(line)
        partition = TopicPartition(str(each["topic"]), int(each["partition"]))
        to_come = each["target_offset"] is None and each["source_offset"] is not None
        if each["kind"] in _ON_ITS_WAY or (to_come and each["source_offset"] >= copied[partition].source):
            continue
        yield each


def _in_words(each: Mapping[str, Any]) -> str:
    where = [
        f"{cluster} offset {each[f'{cluster}_offset']}"
        for cluster in ("source", "target")
        if each[f"{cluster}_offset"] is not None
    ]
    return f"{each['kind']}: {each['count']} records of {each['topic']}-{each['partition']} from {', '.join(where)} on"

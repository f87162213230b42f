"""Reads what is kept of when records reached another site: the reports of checksum audits, and offset syncs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from kafka_dr.audit.report_folders import is_report_folder
from kafka_dr.conflicts.arrivals import ArrivalMarks, OffsetMark, translated
from kafka_dr.conflicts.state import CommittedCopy
from kafka_dr.offsets.syncs.files import SyncArchive
from kafka_dr.positions import OffsetPair, TopicPartition

#: An audit may have begun so long before it asked.
_LONGEST_AUDIT = timedelta(hours=6)
#: What a wall clock may have been set by while an audit asked.
_SLACK_MS = 1_000


@dataclass(frozen=True, slots=True)
class CopiedOrigin:
    """The flow from an origin to another site.

    :param group: the protection group of its flow
    :param cluster_ids: of origin and site
    :param topic_ids: by topic of the origin, its id there, and that of its copy; empty if there is none
    """

    group: str
    origin: str
    site: str
    cluster_ids: tuple[str, str]
    topic_ids: Mapping[str, tuple[str, str]]

    @property
    def direction(self) -> str:
        """``ORIGIN-to-SITE``."""
        return f"{self.origin}-to-{self.site}"


@dataclass(slots=True)
class SeenArrivals:
    """What audits and syncs say of one flow.

    :param absent: from this offset on nothing had arrived then
    :param pairs: offsets of records and of their copies
    :param problems: what could not be used, a sentence each
    """

    absent: dict[TopicPartition, list[OffsetMark]] = field(default_factory=dict)
    pairs: dict[TopicPartition, list[OffsetPair]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def marks(self, partition: TopicPartition, committed: CommittedCopy | None) -> ArrivalMarks:
        """Return what is known of a partition.

        :param committed: by the readers of the other site, on the copy
        """
        seen = () if committed is None else (OffsetMark(offset, at_ms) for at_ms, offset in committed.seen)
        read = translated(seen, self.pairs.get(partition, ()))
        return ArrivalMarks(tuple(self.absent.get(partition, ())), read)


def seen_arrivals(root: Any, copied: CopiedOrigin, *, since: datetime | None) -> SeenArrivals:
    """Read what is kept of a flow.

    :param root: the evidence root
    :param since: audits from before say nothing that is wanted; ``None``: all do
    :raises OSError: the storage refuses
    """
    found = SeenArrivals()
    archive = SyncArchive(root, source=copied.origin, target=copied.site, cluster_ids=copied.cluster_ids)
    archived = archive.read(copied.topic_ids, topic_ids=copied.topic_ids)
    found.problems += archived.problems
    for partition, history in archived.histories.items():
        found.pairs.setdefault(partition, []).extend(history.pairs)
    for report in _reports(root, copied, since):
        _add(found, report, copied)
    return found


def _reports(root: Any, copied: CopiedOrigin, since: datetime | None) -> Iterator[Mapping[str, Any]]:
    folder = root.joinpath("audits", copied.group, "checksum", copied.direction)
    try:
        names = sorted(path.name for path in folder.iterdir() if is_report_folder(path.name))
    except (FileNotFoundError, NotADirectoryError):
        return
    oldest = "" if since is None else (since - _LONGEST_AUDIT).astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    for name in names:
        if name < oldest:
            continue
        try:
            report = json.loads(folder.joinpath(name, "report.json").read_bytes())
        except (FileNotFoundError, ValueError):
            # An audit that died leaves none, or half of one.
            continue
        if isinstance(report, dict) and report.get("bounded") is False and report.get("verdict") != "unknown":
            yield report


def _add(found: SeenArrivals, report: Mapping[str, Any], copied: CopiedOrigin) -> None:
    # The copy's ends were read after the audit had begun, and before this time.
    at_ms = int(datetime.fromisoformat(report["at"]).timestamp() * 1000)
    begun_ms = at_ms - int(report["seconds"]["resolve"] * 1000) - _SLACK_MS
    for topic in report["topics"]:
        ids = topic["topic_ids"]
        if (ids["source"], ids["target"]) != copied.topic_ids.get(topic["topic"]):
            continue
        for each in topic["partitions"]:
            partition = TopicPartition(topic["topic"], each["partition"])
            found.pairs.setdefault(partition, []).extend(OffsetPair(*pair) for pair in each["pairs"])
            # Where anything but lateness was found, a copy may be there that was not recognised.
            if set(each["counts"]) <= {"late"} and "target" not in each["held_back"]:
                copied_to = each["copied"]["source_offset"]
                found.absent.setdefault(partition, []).append(OffsetMark(copied_to, begun_ms))
                # All copies before are among what was read: its last offset is as good as that of the last copy.
                found.pairs[partition].append(OffsetPair(copied_to - 1, each["copied"]["target_offset"] - 1))

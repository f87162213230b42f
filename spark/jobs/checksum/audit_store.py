"""What checksum audits keep below the evidence root, and the order in which it is written.

``audits/<group>/checksum/<source>-to-<target>/`` holds the state, the offset map and the newest result,
``fingerprints/<group>/<source>-to-<target>/`` the fingerprint log. The state is what makes an audit count: it is
written when everything that it refers to is there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import SparkSession

from jobs.checksum.report import ChecksumReport
from jobs.checksum.state import AuditState, StateStore
from jobs.fingerprint_log import FingerprintLog
from jobs.storage import place
from kafka_dr.audit import (
    AuditKind,
    AuditResult,
    AuditVerdict,
    FileFrontierStore,
    FrontierPoint,
    KeptFrontier,
    ResultStore,
)
from kafka_dr.audit.kept_map import KeptMap, Runs, merged
from kafka_dr.clusters import TopicPartition
from kafka_dr.replication import Flow

#: Runs up to which parts of the offset map become one.
_MOST_JOINED = 20_000
#: What nothing names belongs to an audit that is still at work, or to one that died: after so long, to the latter.
_LONG = timedelta(days=1)
_SCAN = re.compile(r"(\d{8}T\d{6})Z-[0-9a-f]+")
_VERDICTS = {"equal": AuditVerdict.GREEN, "findings": AuditVerdict.RED, "unknown": AuditVerdict.UNKNOWN}


@dataclass(frozen=True, slots=True)
class ScanFacts:
    """What is kept of an audit besides its report.

    :param scan: the name of its part of the fingerprint log
    :param begun_again: partitions whose logs are not those that were audited before
    :param keep_for: what only older scans hold is removed
    """

    scan: str
    at: datetime
    begun_again: frozenset[TopicPartition]
    keep_for: timedelta


@dataclass(frozen=True, slots=True)
class AuditStore:
    """The memory of one flow's checksum audits."""

    root: Any
    flow: Flow
    log: FingerprintLog

    @classmethod
    def of(cls, root: str, session: SparkSession, flow: Flow) -> AuditStore:
        """Return the memory below an evidence root.

        :param root: a path, or a URI that Spark knows
        """
        uri = root if "://" in root else f"file://{root}"
        log = FingerprintLog(session, f"{uri.rstrip('/')}/fingerprints/{flow.group}/{_direction(flow)}")
        return cls(place(root, session), flow, log)

    @property
    def folder(self) -> Any:
        """Where the state and the map lie."""
        return self.root.joinpath("audits", self.flow.group, str(AuditKind.CHECKSUM), _direction(self.flow))

    def read(self) -> AuditState | None:
        """Return what the audit before has left."""
        return StateStore(self.folder).read()

    def known_runs(self, clusters: tuple[str, str]) -> Runs:
        """Return the offset map.

        :param clusters: the ids of source and target
        """
        return self._map.read(clusters)

    def keep(self, state: AuditState, report: ChecksumReport, found: ScanFacts) -> None:
        """Keep what an audit found out; what is not needed any more is removed when that is done."""
        before = self.read()
        maps = self._extend_map(state.maps, report, found)
        slim = state.slimmed()
        old = [s for s in slim.scans if found.at - s.at > found.keep_for and not s.ranges]
        slim = replace(slim, scans=tuple(s for s in slim.scans if s not in old), maps=maps)
        StateStore(self.folder).write(slim)
        self._sweep(before, slim, found)

    def _extend_map(self, maps: tuple[str, ...], report: ChecksumReport, found: ScanFacts) -> tuple[str, ...]:
        """Add an audit's runs to the map, and return the parts that make it up.

        Small parts are joined: an audit every few minutes would leave a file of a few runs each time.
        """
        runs = report.offset_map()
        if found.begun_again and maps:
            # What was known about a log that was cut off says nothing about what lies at these offsets now.
            kept = merged(part for name in maps if (part := self._part(name)) is not None)
            others = {k: r for k, r in kept.items() if TopicPartition(k.topic, k.partition) not in found.begun_again}
            runs, maps = merged([others, runs]), ()
        if not runs:
            return maps
        if maps:
            last = self._part(maps[-1])
            if last is not None and sum(map(len, (*last.values(), *runs.values()))) <= _MOST_JOINED:
                runs, maps = merged([last, runs]), maps[:-1]
        self._map.add(found.scan, runs)
        return (*maps, found.scan)

    @property
    def _map(self) -> KeptMap:
        return KeptMap(self.root, group=self.flow.group, direction=_direction(self.flow))

    def _part(self, name: str) -> Runs | None:
        try:
            return self._map.part(name)
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def _sweep(self, before: AuditState | None, now: AuditState, found: ScanFacts) -> None:
        """Remove parts of the map that were replaced, what the log has kept long enough, and what audits that died have
        left.
        """
        named = {each.name for each in now.scans}
        for name in self.log.names():
            if name not in named and _is_older(name, found.at, max(found.keep_for, _LONG)):
                self.log.remove(name)
        replaced = set(before.maps if before else ()) - set(now.maps)
        folder = f"{self.folder}/map"
        for file in self.log.names_in(folder):
            name = file.partition(".")[0]
            if name in replaced or (name not in now.maps and _is_older(name, found.at, _LONG)):
                self.log.remove_file(f"{folder}/{file}")

    def publish(self, report: ChecksumReport, *, report_place: str, whole: bool) -> None:
        """Keep the verdict where a failover looks for it.

        :param whole: whether all of the flow was audited; of a part only what is wrong is worth keeping
        """
        ResultStore(self.root).write(
            AuditResult(
                kind=AuditKind.CHECKSUM,
                group=self.flow.group,
                source=self.flow.source,
                target=self.flow.target,
                epoch=report.epoch,
                verdict=_VERDICTS[report.verdict],
                at=report.at,
                sentence=report.sentence if whole else f"in a part of the flow: {report.sentence}",
                report=report_place,
            )
        )

    def advance_frontier(self, state: AuditState, report: ChecksumReport) -> None:
        """Let the failover's own comparison begin where this audit ended; it never goes back.

        Only a flow whose epoch is known has a frontier there, and only topics that both sides have.
        """
        if report.epoch is None:
            return
        store, direction = FileFrontierStore(self.root, self.flow.group), _direction(self.flow)
        before = store.read(direction)
        same = before is not None and before.identity == state.identity
        ids = {**(before.topic_ids if before and same else {})}
        places = {**(before.points if before and same else {})}
        for each in report.partitions:
            topic, number = each.partition.topic, each.partition.partition
            found = report.topic_ids[topic]
            known = places.get((topic, number))
            if not all(found) or (known and ids.get(topic) == found and known.source_offset >= each.frontier[0]):
                continue
            ids[topic] = found
            places[topic, number] = FrontierPoint(*each.frontier, each.coverage.verified)
        store.write(direction, KeptFrontier(state.identity, ids, places))


def _direction(flow: Flow) -> str:
    return f"{flow.source}-to-{flow.target}"


def scan_name(at: datetime, chance: str) -> str:
    """Return a name for a scan that says when it began."""
    return f"{at.astimezone(UTC):%Y%m%dT%H%M%SZ}-{chance}"


def _is_older(scan: str, at: datetime, age: timedelta) -> bool:
    """Whether a scan of this name began longer ago than that; what has another name is not ours."""
    found = _SCAN.fullmatch(scan)
    return found is not None and at - datetime.strptime(found[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC) > age

"""What checksum audits keep below the evidence root, and the order in which it is written.

``audits/<group>/checksum/<source>-to-<target>/`` holds the state, the offset map and the newest result,
``fingerprints/<group>/<source>-to-<target>/`` the fingerprint log. An audit counts as soon as its state is written, so
the state is written after everything that it refers to.
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
from jobs.storage import path_of, uri_of
from kafka_dr.audit.kept_frontier import FileFrontierStore, FrontierPoint, KeptFrontier
from kafka_dr.audit.kept_map import KeptMap, Runs, merged
from kafka_dr.audit.result import AuditKind, AuditResult, AuditVerdict, ResultStore
from kafka_dr.clusters import TopicPartition
from kafka_dr.replication.flow import Flow

#: Parts of the offset map with fewer runs than this are joined.
_MOST_JOINED = 20_000
#: A scan that no state names belongs to an audit that is still running, or to one that died; after this time it died.
_LONG = timedelta(days=1)
_SCAN = re.compile(r"(\d{8}T\d{6})Z-[0-9a-f]+")
_VERDICTS = {"equal": AuditVerdict.GREEN, "findings": AuditVerdict.RED, "unknown": AuditVerdict.UNKNOWN}


@dataclass(frozen=True, slots=True)
class ScanFacts:
    """What is kept of an audit, next to its report.

    :param scan: the name of its part of the fingerprint log
    :param begun_again: partitions whose logs are not those that were audited before
    :param keep_for: how long scans are kept that are no longer needed
    """

    scan: str
    at: datetime
    begun_again: frozenset[TopicPartition]
    keep_for: timedelta


@dataclass(frozen=True, slots=True)
class AuditStore:
    """Everything that the checksum audits of one flow keep."""

    root: Any
    flow: Flow
    log: FingerprintLog

    @classmethod
    def of(cls, root: str, session: SparkSession, flow: Flow) -> AuditStore:
        """Return the store below an evidence root.

        :param root: a path, or a URI that Spark knows
        """
        log = FingerprintLog(session, f"{uri_of(root).rstrip('/')}/fingerprints/{flow.group}/{_direction(flow)}")
        return cls(path_of(root, session), flow, log)

    @property
    def folder(self) -> Any:
        """The folder of the state and the offset map."""
        return self.root.joinpath("audits", self.flow.group, str(AuditKind.CHECKSUM), _direction(self.flow))

    def read(self) -> AuditState | None:
        """Return the state that the previous audit left."""
        return StateStore(self.folder).read()

    def known_runs(self, clusters: tuple[str, str]) -> Runs:
        """Return the offset map.

        :param clusters: the ids of source and target
        """
        return self._map.read(clusters)

    def keep(self, state: AuditState, report: ChecksumReport, found: ScanFacts) -> None:
        """Keep the result of an audit, then remove what is no longer needed."""
        before = self.read()
        maps = self._extend_map(state.maps, report, found)
        slim = state.slimmed()
        old = [s for s in slim.scans if found.at - s.at > found.keep_for and not s.ranges]
        slim = replace(slim, scans=tuple(s for s in slim.scans if s not in old), maps=maps)
        StateStore(self.folder).write(slim)
        self._sweep(before, slim, found)

    def _extend_map(self, maps: tuple[str, ...], report: ChecksumReport, found: ScanFacts) -> tuple[str, ...]:
        """Add an audit's runs to the offset map, and return the parts that count.

        Small parts are joined: an audit every few minutes would otherwise leave a file of a few runs each time.
        """
        runs = report.offset_map()
        if found.begun_again and maps:
            # A truncated log has other records at these offsets now.
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
        """Remove replaced parts of the map, scans that were kept long enough, and files of audits that died."""
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

    def publish(self, report: ChecksumReport, *, report_path: str, whole: bool) -> None:
        """Keep the verdict in the file that a failover reads.

        :param report_path: of ``report.json``
        :param whole: whether all of the flow was audited; of a part, only findings are worth keeping
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
                report=report_path,
                complete=report.complete,
            )
        )

    def advance_frontier(self, state: AuditState, report: ChecksumReport) -> None:
        """Let the failover's own comparison begin where this audit ended; it never moves back.

        Only a flow whose epoch is known has such a frontier, and only topics that both clusters have.
        """
        if report.epoch is None:
            return
        store, direction = FileFrontierStore(self.root, self.flow.group), _direction(self.flow)
        before = store.read(direction)
        same = before is not None and before.identity == state.identity
        ids = {**(before.topic_ids if before and same else {})}
        points = {**(before.points if before and same else {})}
        for each in report.partitions:
            topic, number = each.partition.topic, each.partition.partition
            found = report.topic_ids[topic]
            known = points.get((topic, number))
            if not all(found) or (known and ids.get(topic) == found and known.source_offset >= each.frontier[0]):
                continue
            ids[topic] = found
            points[topic, number] = FrontierPoint(*each.frontier, each.coverage.verified)
        store.write(direction, KeptFrontier(state.identity, ids, points))


def _direction(flow: Flow) -> str:
    return f"{flow.source}-to-{flow.target}"


def scan_name(at: datetime, chance: str) -> str:
    """Return a name for a scan that contains the time at which it began."""
    return f"{at.astimezone(UTC):%Y%m%dT%H%M%SZ}-{chance}"


def _is_older(scan: str, at: datetime, age: timedelta) -> bool:
    """Whether a scan of this name began longer ago than that; a file with another name was not made by an audit."""
    found = _SCAN.fullmatch(scan)
    return found is not None and at - datetime.strptime(found[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC) > age

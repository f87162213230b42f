"""What checksum audits keep below the evidence root, and the order in which it is written.

``audits/<group>/checksum/<source>-to-<target>/`` holds the state, the offset map and the newest result,
``fingerprints/<group>/<source>-to-<target>/`` the fingerprint log. The state is what makes an audit count: it is
written when everything that it refers to is there.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from jobs.checksum_report import Report, joined_maps, parquet, write_file
from jobs.checksum_state import AuditState, StateStore
from jobs.fingerprint_log import FingerprintLog
from jobs.places import place
from kafka_dr.audit import (
    AuditKind,
    AuditResult,
    AuditVerdict,
    FileFrontierStore,
    Place,
    Remembered,
    ResultStore,
)
from kafka_dr.replication import Flow

#: Runs up to which parts of the offset map become one.
_MOST_JOINED = 20_000
_VERDICTS = {"equal": AuditVerdict.GREEN, "findings": AuditVerdict.RED, "unknown": AuditVerdict.UNKNOWN}


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of one flow's checksum audits."""

    root: Any
    flow: Flow
    log: FingerprintLog

    @classmethod
    def of(cls, root: str, session: SparkSession, flow: Flow) -> Memory:
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

    def keep(self, state: AuditState, report: Report, *, scan: str, now: datetime, keep_for: timedelta) -> None:
        """Keep what an audit found out; what an older scan alone holds is removed when it is old enough."""
        maps = self._extend_map(state.maps, report, scan)
        slim = state.slimmed()
        old = [s for s in slim.scans if now - s.at > keep_for and not s.ranges]
        StateStore(self.folder).write(replace(slim, scans=tuple(s for s in slim.scans if s not in old), maps=maps))
        for each in old:
            self.log.remove(each.name)
        for name in set(state.maps) - set(maps):
            self.log.remove_file(f"{self.folder}/map/{name}.parquet")

    def _extend_map(self, maps: tuple[str, ...], report: Report, scan: str) -> tuple[str, ...]:
        """Add an audit's runs to the map, and return the parts that make it up.

        Small parts are joined: an audit every few minutes would leave a file of a few runs each time.
        """
        runs = report.offset_map()
        if not len(runs):
            return maps
        if maps:
            last = pq.read_table(io.BytesIO(self.folder.joinpath("map", f"{maps[-1]}.parquet").read_bytes()))
            if len(last) + len(runs) <= _MOST_JOINED:
                runs, maps = joined_maps([last, runs]), maps[:-1]
        write_file(self.folder.joinpath("map"), f"{scan}.parquet", parquet(runs))
        return (*maps, scan)

    def publish(self, report: Report, *, report_place: str) -> None:
        """Keep the verdict where a failover looks for it."""
        ResultStore(self.root).write(
            AuditResult(
                kind=AuditKind.CHECKSUM,
                group=self.flow.group,
                source=self.flow.source,
                target=self.flow.target,
                epoch=report.epoch,
                verdict=_VERDICTS[report.verdict],
                at=report.at,
                sentence=report.sentence,
                report=report_place,
            )
        )

    def advance_frontier(self, state: AuditState, report: Report) -> None:
        """Let the failover's own comparison begin where this audit ended; it never goes back.

        Only a flow whose epoch is known has a frontier there, and only topics that both sides have.
        """
        if report.epoch is None:
            return
        store, direction = FileFrontierStore(self.root, self.flow.group), _direction(self.flow)
        before = store.read(direction)
        same = before is not None and before.identity == state.identity
        ids = {**(before.topic_ids if before and same else {})}
        places = {**(before.places if before and same else {})}
        for each in report.partitions:
            topic, number = each.partition.topic, each.partition.partition
            found = report.topic_ids[topic]
            known = places.get((topic, number))
            if not all(found) or (known and ids.get(topic) == found and known.source_offset >= each.frontier[0]):
                continue
            ids[topic] = found
            places[topic, number] = Place(*each.frontier, each.coverage.verified)
        store.write(direction, Remembered(state.identity, ids, places))


def _direction(flow: Flow) -> str:
    return f"{flow.source}-to-{flow.target}"

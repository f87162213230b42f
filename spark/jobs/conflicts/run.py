"""One conflict audit of one block: what was asked is read once, met by key in Spark, and reported.

The driver holds what is asked of the members, counts, and the first findings. Records and findings are tables that
executors write and read.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession

from jobs.conflicts.origins import AskedMembers, MemberBlock
from jobs.conflicts.plan import ConflictPlan, OriginPartition, plan, together
from jobs.fingerprint_log import READING
from kafka_dr.audit.content_keys import ContentKeys, Encryption, KeyUnusable
from kafka_dr.causes import cause
from kafka_dr.clock import Stopwatch
from kafka_dr.clusters import KafkaCluster
from kafka_dr.conflicts.arrivals import ArrivalMarks, stretches
from kafka_dr.conflicts.report import ConflictCount, ConflictReport, OriginRead, StrayCount
from kafka_dr.conflicts.seen import SeenArrivals, seen_arrivals
from kafka_dr.conflicts.state import CommittedCopy, ConflictState, ConflictStateStore
from kafka_dr.counted import counted
from kafka_dr.errors import Refused
from kafka_dr.topology.conflicts import ConflictsSpec
from kafka_dr_spark import conflicts, resolution, strays
from kafka_dr_spark.encrypted_records import key_relation
from kafka_dr_spark.kafka_ranges import read_ranges

#: How many findings, keys and hours ``report.json`` has; the table has all findings.
_MOST_SHOWN, _MOST_KEYS, _MOST_HOURS = 200, 50, 336
#: What was committed before is translated by pairs of offsets that older audits have seen.
_PAIRS = timedelta(hours=2)
_STAMP = "%Y%m%dT%H%M%SZ"
_NAME = re.compile(r"(\d{8}T\d{6}Z)-[0-9a-f]{6}")
#: Records that no state names belong to an audit that is still running, or to one that died; after this time it died.
_LONG = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ConflictOutcome:
    """The result of an audit, before any of it counts."""

    report: ConflictReport
    state: ConflictState


@dataclass(slots=True)
class ConflictRun:
    """One audit.

    :param root: the evidence root, and ``uri`` the same as Spark names it
    :param keys: hash keys of records with this key; ``None``: with the name of the block alone
    :param whole: whether all topics are audited; of a part nothing is kept for the next audit
    """

    session: SparkSession
    block: MemberBlock
    declared: ConflictsSpec
    clusters: Mapping[str, KafkaCluster]
    root: Any
    uri: str
    watch: Stopwatch
    keys: ContentKeys | None = None
    whole: bool = True

    @property
    def _below(self) -> tuple[str, ...]:
        return "audits", self.block.name, "conflicts", "all-members"

    @property
    def store(self) -> ConflictStateStore:
        """Where the state is kept."""
        return ConflictStateStore(self.root.joinpath(*self._below))

    def _folder(self, name: str) -> str:
        return "/".join((self.uri.rstrip("/"), *self._below, "records", name))

    def audit(self, asked: AskedMembers, *, full: bool, out: str) -> ConflictOutcome:
        """Audit the block. The result is valid only after it is kept.

        :param out: the folder of the report, as Spark names it
        """
        kept = self.store.read()
        encryption, before, cautions = self._continued(asked, None if full or not self.whole else kept)
        planned = plan(asked, before, skew_ms=self.declared.skew_ms)
        committed = together(kept.committed if kept is not None else (), asked.committed)
        arrivals, problems = self._arrivals(asked, planned, committed)
        self.watch.lap("arrivals")
        name = f"{asked.at.astimezone(UTC).strftime(_STAMP)}-{secrets.token_hex(3)}"
        scan = self._folder(f"{name}.scan")
        try:
            new = self._read(planned, scan, encryption)
            self.watch.lap("scan")
            reads = self._reads(planned, asked, new)
            old = None if before is None else conflicts.written_records(self.session, self._folder(before.kept))
            records = new if old is None else old.unionByName(new)
            found, stray = self._found(records, new, arrivals, out)
            self.watch.lap("compare")
            if self.whole:
                conflicts.to_meet(records, horizon=planned.horizon_ms).write.parquet(self._folder(name))
            self.watch.lap("keep")
        finally:
            self._remove(scan)
        state = ConflictState(
            sites=self._sites(asked),
            key_form=self.declared.kept_form,
            horizon_ms=planned.horizon_ms,
            kept=name,
            origins=planned.reached(asked),
            committed=committed,
            encryption=encryption,
        )
        report = ConflictReport(
            block=self.block.name,
            at=asked.at,
            full=before is None,
            sites=self.block.sites,
            skew_ms=self.declared.skew_ms,
            key_form=self.declared.keys,
            strategy=self.declared.strategy,
            counts=tuple(ConflictCount(*row) for row in conflicts.counts(found).collect()),
            origins=reads,
            kept_before=0 if old is None else old.count(),
            shown=tuple(map(_shown, conflicts.worst(found, most=_MOST_SHOWN).collect())),
            strays=tuple(StrayCount(*row) for row in conflicts.stray_counts(stray).collect()),
            shown_strays=tuple(map(_shown, conflicts.worst(stray, most=_MOST_SHOWN).collect())),
            keys=tuple(row.asDict() for row in conflicts.top_keys(found, most=_MOST_KEYS).collect()),
            hours=tuple(_hour(row.asDict()) for row in conflicts.by_hour(found, most=_MOST_HOURS).collect()),
            cautions=(*cautions, *asked.cautions, *problems),
            table=f"{out}/findings",
            seconds=self.watch.total(),
        )
        return ConflictOutcome(report, state)

    def keep(self, done: ConflictOutcome) -> None:
        """Let the next audit continue from this one; the report has to be written before."""
        before = self.store.read()
        self.store.write(done.state)
        replaced = "" if before is None else before.kept
        for name in sorted(each.name for each in self.root.joinpath(*self._below, "records").iterdir()):
            if name != done.state.kept and (name == replaced or _is_old(name, done.report.at)):
                self._remove(self._folder(name))

    def _continued(
        self, asked: AskedMembers, kept: ConflictState | None
    ) -> tuple[Encryption | None, ConflictState | None, list[str]]:
        """Return how keys are hashed, and the state to continue from unless what it says is about something else."""
        again = self._begins_again(asked, kept) if kept is not None else ""
        if kept is not None and not again:
            return kept.encryption, kept, []
        said = [f"it began again and read all that the logs hold: {again}"] if again else []
        return None if self.keys is None else self.keys.new(), None, said

    def _begins_again(self, asked: AskedMembers, kept: ConflictState) -> str:
        if kept.sites != self._sites(asked):
            return "the members are other ones, or in another order"
        if kept.key_form != self.declared.kept_form or (kept.encryption is None) != (self.keys is None):
            return "keys or values are kept in another form"
        try:
            if self.keys is not None and kept.encryption is not None:
                self.keys.content_key(kept.encryption)
        except KeyUnusable as error:
            return f"keys were hashed with another key ({error})"
        try:
            self.root.joinpath(*self._below, "records", kept.kept, "_SUCCESS").read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return "the records that the last audit has kept are gone"
        return ""

    def _sites(self, asked: AskedMembers) -> tuple[tuple[str, str], ...]:
        return tuple((name, asked.logs[name].cluster_id) for name in self.block.sites)

    def _arrivals(
        self, asked: AskedMembers, planned: ConflictPlan, committed: tuple[CommittedCopy, ...]
    ) -> tuple[DataFrame, list[str]]:
        """Return what is known of when records arrived and were read, see :data:`conflicts.ARRIVALS`."""
        before = planned.before
        since = None if before is None else datetime.fromtimestamp(before.horizon_ms / 1000, UTC) - _PAIRS
        copied = {ends: asked.copied(self.block, *ends) for ends in self.block.pairs()}
        flows = {ends: seen_arrivals(self.root, each, since=since) for ends, each in copied.items()}
        reading = {(e.origin, e.site, e.topic, e.partition): e for e in committed}

        def marks(origin: str, site: str, at: OriginPartition) -> ArrivalMarks:
            if origin == site:
                return ArrivalMarks()
            partition, flow = at[1], flows[origin, site]
            read = reading.get((origin, site, partition.topic, partition.partition))
            if read is not None and read.copy_id != copied[origin, site].topic_ids[partition.topic][1]:
                read = None
            return flow.marks(partition, read)

        rows = [
            (number, at[1].topic, at[1].partition, s.first, s.after, list(s.not_before), list(s.read_by))
            for number, origin in enumerate(self.block.sites)
            for at in sorted(planned.wanted)
            if at[0] == origin
            for s in stretches([marks(origin, site, at) for site in self.block.sites])
        ]
        return self.session.createDataFrame(rows, conflicts.ARRIVALS), _problems(flows)

    def _read(self, planned: ConflictPlan, folder: str, encryption: Encryption | None) -> DataFrame:
        """Read what is new of all origins, once, and return it from where it was written."""
        key = None
        if self.keys is not None and encryption is not None:
            key = key_relation(self.session, self.keys.content_key(encryption))
        frames = []
        for number, origin in enumerate(self.block.sites):
            spans = {
                (p.topic, p.partition): [(span.start, span.end)]
                for (name, p), span in planned.ranges.items()
                if name == origin
            }
            if spans:
                access = {**self.clusters[origin].settings.spark(), **READING}
                frames.append(
                    conflicts.site_records(
                        read_ranges(self.session, access, spans),
                        origin=number,
                        salt=self.block.name.encode() + b"\0",
                        content_key=key,
                        plain=self.declared.keys == "plain",
                        values=self.declared.needs_values,
                        wrong=self._wrong(origin),
                    )
                )
        if not frames:
            return self.session.createDataFrame([], conflicts.SITE_RECORDS)
        reduce(DataFrame.unionAll, frames).write.parquet(folder)
        return conflicts.written_records(self.session, folder)

    def _wrong(self, member: str) -> list[Column]:
        """Return what may be wrong with a record of a member's own log, as far as that is declared."""
        owned, tagged, members = self.declared.ownership, self.declared.provenance, self.block.sites
        found = [] if owned is None else strays.not_owned(member, strays.owner(members, **owned.model_dump()))
        return found if tagged is None else [*found, *strays.not_tagged(member, members, **tagged.model_dump())]

    def _strategy(self) -> resolution.Strategy:
        declared, members = self.declared, self.block.sites
        try:
            return resolution.strategy(
                declared.strategy, members, priority=declared.priority, function=declared.custom or ""
            )
        except (ImportError, AttributeError) as error:
            raise Refused(
                f"conflicts.custom of {self.block.name} cannot be used ({cause(error)}): correct it, or add the folder "
                "of its module to PYTHONPATH of the driver"
            ) from error

    def _found(self, records: DataFrame, new: DataFrame, arrivals: DataFrame, out: str) -> tuple[DataFrame, DataFrame]:
        """Write all findings as one table, and return those about two records, and those about one."""
        sites, declared = self.block.sites, self.declared
        met = conflicts.meetings(records, arrivals, sites=len(sites))
        by_time = declared.strategy not in resolution.TIMELESS
        judged = conflicts.judged(met, skew_ms=declared.skew_ms, strategy=self._strategy(), by_time=by_time)
        found = conflicts.findings(judged, sites=sites)
        known = None if self.declared.provenance is None else records
        stray = conflicts.stray_findings(new, sites=sites, known=known)
        found = found.unionByName(stray, allowMissingColumns=True)
        found.write.mode("overwrite").parquet(f"{out}/findings")
        written = self.session.read.schema(found.schema).parquet(f"{out}/findings")
        if refused := written.where("refused").count():
            raise Refused(
                f"{declared.custom} decides nothing: of {counted(refused, 'conflict')} its answer depends on which "
                "record comes first, or on when it is asked; correct it, or choose another strategy"
            )
        return written.where("earlier_origin is not null"), written.where("earlier_origin is null")

    def _reads(self, planned: ConflictPlan, asked: AskedMembers, new: DataFrame) -> tuple[OriginRead, ...]:
        horizon = None if planned.before is None else planned.before.horizon_ms
        rows = {
            (self.block.sites[row["origin"]], row["topic"], row["partition"]): row.asDict()
            for row in conflicts.read_counts(new, horizon=horizon).collect()
        }
        # What expired while it was read was perhaps not read.
        starts = {
            (origin, p): start
            for origin, log in asked.logs.items()
            for p, start in self.clusters[origin].topics.log_starts(log.held).items()
        }
        return tuple(
            planned.read(
                (origin, p),
                rows.get((origin, p.topic, p.partition), {}),
                compacted=p.topic in asked.logs[origin].compacted,
                starts=starts,
            )
            for origin, p in sorted(planned.wanted)
        )

    def _remove(self, folder: str) -> None:
        path = self.session._jvm.org.apache.hadoop.fs.Path(folder)  # type: ignore[union-attr]
        path.getFileSystem(self.session._jsparkSession.sessionState().newHadoopConf()).delete(path, True)


def _is_old(name: str, at: datetime) -> bool:
    """Whether records of that name were written long ago; what has another name was not written by an audit."""
    found = _NAME.match(name)
    return found is not None and at - datetime.strptime(found[1], _STAMP).replace(tzinfo=UTC) > _LONG


def _problems(flows: Mapping[tuple[str, str], SeenArrivals]) -> list[str]:
    """Say of which flows it is not known when records arrived."""
    found = []
    for (origin, site), seen in flows.items():
        found += seen.problems
        if not seen.absent:
            found.append(
                f"{origin} → {site}: no good checksum audit is kept from the time that was looked at, so no conflict "
                f"with {origin} can be certain"
            )
    more = len(found) - 10
    return found if more <= 0 else [*found[:10], f"and {counted(more, 'more thing')}"]


def _shown(row: Any) -> Mapping[str, Any]:
    found: dict[str, Any] = row.asDict()
    ends = (which for which in ("earlier", "later") if found[f"{which}_origin"] is not None)
    return found | {f"{which}_at": _stamp(found[f"{which}_ms"]) for which in ends}


def _hour(row: dict[str, Any]) -> Mapping[str, Any]:
    return row | {"hour": _stamp(row["hour"])}


def _stamp(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")

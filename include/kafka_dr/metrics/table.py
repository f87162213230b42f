"""The one table of metrics: every name, what it means, and its labels. The page of names is compared with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from kafka_dr.audit.finding import FindingKind
from kafka_dr.readiness.model import Answer, ReadyVerb
from kafka_dr.watch_results import WatchName, WatchOutcome

#: What every name begins with.
PREFIX = "kafka_dr_"

MetricKind = Literal["gauge", "counter"]

#: What is not known is a value of its own, and never one of the others.
UNKNOWN = "unknown"
#: The phases of the register, and that it is not known.
PHASES = (
    *("adopting", "stable", "switching", "handed_over", "unfenced", "diverged", "releasing", "released"),
    UNKNOWN,
)
OUTCOMES: tuple[str, ...] = get_args(WatchOutcome)
VERBS: tuple[ReadyVerb, ...] = get_args(ReadyVerb)
ANSWERS: tuple[str, ...] = get_args(Answer)
CANARY_VERDICTS = ("on_time", "late", "lost", "duplicated", "reordered", "looped", UNKNOWN)
#: What an audit may find, by audit. A record in flight is no finding.
FINDINGS: dict[str, tuple[str, ...]] = {
    "checksum": tuple(kind.value for kind in FindingKind if kind is not FindingKind.IN_FLIGHT),
    "lag": ("deleted", "past_end", "not_moving", "late", "retention", "latency", "position_not_copied"),
}
LAG_VERDICTS = ("REWIND", "STOP", "STALL", "WARN", "NOT_ENOUGH_DATA", "OK")
PERCENTILES = ("p50", "p95", "p99", "max")
#: Of each of several standbys: by which watch, and which of its facts.
STANDBY_FIGURES: Mapping[str, tuple[WatchName, str]] = {
    "lag": ("lag", "seconds"),
    "canary_rpo": ("canary", "rpo_seconds"),
    "verified_rpo": ("checksum", "verified_rpo_seconds"),
}
#: What a conflict audit counts, by the facts of its result.
CONFLICT_COUNTS = ("certain", "possible", "partition_differs", "stray_records", "unknown_offsets")
#: What has an objective, and is measured by each run.
FIGURES = ("rto", "rpo", "write_outage")
#: What the recovery of a failover was spent on; the objective is that of ``rto``.
RECOVERY_PARTS = ("recovery_detection", "recovery_people", "recovery_switch", "recovery_applications")


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric.

    :param name: as ``/metrics`` and Prometheus have it, with its unit; of a counter without ``_total``
    :param unit: what the value counts, at the end of the name; empty if it has none
    :param labels: the names of its labels
    :param says: one sentence
    :param by_tasks: whether tasks also send it through Airflow's own metrics
    """

    name: str
    kind: MetricKind
    unit: str
    labels: tuple[str, ...]
    says: str
    by_tasks: bool

    @property
    def sample_name(self) -> str:
        """The name of its samples, as queries use it."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


#: In the order of the page.
METRICS: dict[str, Metric] = {}


def _metric(
    name: str, labels: str, says: str, *, unit: str = "", kind: MetricKind = "gauge", by_tasks: bool = True
) -> Metric:
    """Add a metric to the table.

    :param name: without prefix and unit
    :param labels: their names, with a space between them
    """
    whole = f"{PREFIX}{name}_{unit}" if unit else f"{PREFIX}{name}"
    METRICS[whole] = found = Metric(whole, kind, unit, tuple(labels.split()), says, by_tasks)
    return found


GROUPS = _metric("groups", "", "How many protection groups the topology declares.", by_tasks=False)
SITUATION = _metric(
    "situation",
    "group situation colour",
    "1 for what is the matter with the group: a row of What to do first.",
    by_tasks=False,
)
WATCH_OUTCOME = _metric(
    "watch_outcome", "group watch outcome", "1 for what the watch says of the group now. Too old means unknown."
)
WATCH_AGE = _metric(
    "watch_age",
    "group watch",
    "Time since the watch looked at the group. +Inf if it never did, or its result cannot be read.",
    unit="seconds",
    by_tasks=False,
)
WATCH_LIMIT = _metric(
    "watch_limit", "group watch", "For how long a result of the watch is believed.", unit="seconds", by_tasks=False
)
WATCH_LOOKED = _metric(
    "watch_looked_timestamp", "group watch", "When the watch looked at the group, as Unix time.", unit="seconds"
)
PHASE = _metric("phase", "group phase", "1 for the phase of the group in the register.")
ACTIVE = _metric("active", "group cluster", "1 for the cluster that is active. 0 for each cluster if that is unknown.")
STANDBY_ROLE = _metric(
    "standby_role", "group cluster role", "1 for what the register says of each of several standbys.", by_tasks=False
)
STANDBY_SECONDS = _metric(
    "standby",
    "group cluster figure",
    "Lag, canary RPO and verified RPO of each of several standbys.",
    unit="seconds",
    by_tasks=False,
)
EPOCH = _metric("epoch", "group", "The epoch of the group in the register.")
HELD = _metric("held", "group", "Whether a run holds the group.")
HEALTH_CHECK = _metric(
    "health_check", "group check outcome", "1 for each check of health that is not ok.", by_tasks=False
)
DENIES_ADDED = _metric(
    "denies_added", "group", "How many DENYs of a fence were missing, and were added again by health.", kind="counter"
)
READINESS = _metric("readiness", "group verb answer", "1 for whether the verb could be used on the group now.")
READINESS_SCORE = _metric("readiness_score", "group verb", "How many of 100 checks are ok.")
READINESS_CHECK = _metric(
    "readiness_check", "group verb check outcome", "1 for each check of readiness that is not ok.", by_tasks=False
)
CANARY_VERDICT = _metric("canary_verdict", "group verdict", "1 for the verdict on the canaries of the flow.")
CANARY_RPO = _metric(
    "canary_rpo", "group", "Age of the newest replicated canary when the newest was sent.", unit="seconds"
)
CANARY_LATENCY = _metric(
    "canary_latency", "group", "How long the slowest canary of the last look took.", unit="seconds"
)
VERIFIED_RPO = _metric(
    "verified_rpo",
    "group",
    "Age of the oldest record without a verified copy, when the checksum audit read the logs. 0 if there is none.",
    unit="seconds",
)
UNVERIFIED = _metric("unverified", "group", "How many offsets of the source are not verified yet.", unit="offsets")
FRONTIER_AGE = _metric(
    "frontier_age",
    "group",
    "Time since everything was verified: it grows until an audit verifies more. +Inf if no audit is known.",
    unit="seconds",
    by_tasks=False,
)
FINDINGS_OPEN = _metric("findings", "group audit kind", "Open findings: of checksum in records, of lag each once.")
LAG_RECORDS = _metric("lag", "group", "Records that wait to be copied.", unit="records")
LAG_BYTES = _metric("lag", "group", "Bytes that wait to be copied.", unit="bytes")
LAG_SECONDS = _metric("lag", "group", "Age of the oldest record that waits to be copied.", unit="seconds")
LATENCY = _metric(
    "replication_latency", "group percentile", "How long replication takes, by MirrorMaker's syncs.", unit="seconds"
)
HEADROOM = _metric(
    "retention_headroom",
    "group",
    "Time until the source may delete a record that is not copied, of the worst partition. NaN without such records.",
    unit="seconds",
)
CONFLICTS = _metric(
    "conflicts",
    "group count",
    "What the newest conflict audit of a block counted: conflicts by certainty, records of nobody, offsets not known.",
)
CONSUMER_GROUPS = _metric("consumer_groups", "group verdict", "How many consumer groups have this verdict on lag.")
REDELIVERED = _metric(
    "redelivered", "group by", "How many records a switch now would deliver again, at most.", unit="records"
)
STEP = _metric("step", "group verb step", "How long the step took in the newest run of the verb.", unit="seconds")
RUN_GOOD = _metric("run_good", "group verb", "Whether the newest run of the verb did what it had to.", by_tasks=False)
RUN_ENDED = _metric(
    "run_ended_timestamp",
    "group verb",
    "When the newest run of the verb ended, as Unix time.",
    unit="seconds",
    by_tasks=False,
)
RUN_MEASURED = _metric(
    "run_measured", "group verb figure", "What the newest run of the verb measured.", unit="seconds", by_tasks=False
)
RUNS_READABLE = _metric("runs_readable", "group", "Whether the list of the last runs can be read.", by_tasks=False)
OBJECTIVE = _metric("objective", "group figure", "What the topology allows.", unit="seconds", by_tasks=False)

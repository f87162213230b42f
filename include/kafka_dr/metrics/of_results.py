"""What the kept results of a group become as metrics. Pure: the same results always make the same samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from kafka_dr.json_documents import is_number
from kafka_dr.metrics import table
from kafka_dr.metrics.samples import NEVER, NOT_KNOWN, MetricSample, number, states, texts
from kafka_dr.readiness.judge import readiness_now, verbs_in
from kafka_dr.readiness.model import ReadinessUnreadable, VerbReadiness
from kafka_dr.watch_results import KeptResult, WatchedGroup, WatchName, WatchStatus
from kafka_dr.watch_results.kept import ROLES
from kafka_dr.watch_results.watches import believed_for

#: A damaged result may name any number of checks.
_MOST_CHECKS = 200
_Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DeclaredGroup:
    """What the topology says of a group, as far as metrics need it.

    :param limits: for how long a result of each watch is believed
    :param objectives: in seconds, by what is measured
    """

    name: str
    clusters: tuple[str, ...]
    limits: Mapping[WatchName, timedelta]
    objectives: Mapping[str, float]


def of_group(watched: WatchedGroup, declared: DeclaredGroup, now: datetime) -> Iterator[MetricSample]:
    """Yield what is known of a group now. Every series of the table is there; what is not known says so.

    :param now: the time for which the group was judged, UTC
    """
    name = watched.group
    yield from _of_watches(watched, declared, now)
    yield from _standbys(name, watched)
    yield from _open_checks(name, watched.of("health"))
    yield from _totals(name, watched.of("health").result)
    yield from _frontier_age(name, watched.of("checksum").result, now)
    verbs = readiness_now(watched).verbs
    yield from _readiness(name, verbs)
    for verb in verbs:
        # Of several standbys the same may be asked of each.
        for check, outcome in list(dict.fromkeys((each.name, each.outcome) for each in verb.open))[:_MOST_CHECKS]:
            yield MetricSample(table.READINESS_CHECK, (name, verb.verb, check, outcome), 1.0)
    for figure, seconds in declared.objectives.items():
        yield MetricSample(table.OBJECTIVE, (name, figure), seconds)


def of_apart(watched: WatchedGroup, now: datetime) -> Iterator[MetricSample]:
    """Yield what is known of what is no protection group, but is looked at.

    :param now: the time for which it was judged, UTC
    """
    limits = {each.watch.name: believed_for(each.watch.every) for each in watched.watches}
    yield from _of_watches(watched, DeclaredGroup(watched.group, (), limits, {}), now)


def of_look(kept: KeptResult, clusters: tuple[str, ...]) -> Iterator[MetricSample]:
    """Yield what one look says, for the task that looked.

    :param clusters: the declared clusters of the group
    """
    yield from states(table.WATCH_OUTCOME, (kept.group, kept.watch), table.OUTCOMES, kept.outcome)
    yield MetricSample(table.WATCH_LOOKED, (kept.group, kept.watch), kept.looked_at.timestamp())
    yield from _figures(kept.group, kept.watch, kept.facts, clusters)
    if kept.watch == "readiness":
        try:
            verbs = verbs_in(kept.facts)
        except ReadinessUnreadable:
            verbs = tuple(VerbReadiness(verb, ()) for verb in table.VERBS)
        yield from _readiness(kept.group, verbs)
    if is_number(added := kept.facts.get("denies_added")) and added:
        yield MetricSample(table.DENIES_ADDED, (kept.group,), float(added))


def _of_watches(watched: WatchedGroup, declared: DeclaredGroup, now: datetime) -> Iterator[MetricSample]:
    for status in watched.watches:
        yield from _of_watch(watched.group, status, declared, now)
        # What an old result says holds no longer; its age is the only thing that is still true of it.
        facts = status.result.facts if status.result is not None and not status.reason else {}
        yield from _figures(watched.group, status.watch.name, facts, declared.clusters)


def _of_watch(group: str, status: WatchStatus, declared: DeclaredGroup, now: datetime) -> Iterator[MetricSample]:
    watch, found = status.watch.name, status.result
    yield from states(table.WATCH_OUTCOME, (group, watch), table.OUTCOMES, status.outcome)
    age = (now - found.looked_at).total_seconds() if found is not None else NEVER
    yield MetricSample(table.WATCH_AGE, (group, watch), age)
    limit = found.good_for if found is not None else declared.limits[watch]
    yield MetricSample(table.WATCH_LIMIT, (group, watch), limit.total_seconds())
    if found is not None:
        yield MetricSample(table.WATCH_LOOKED, (group, watch), found.looked_at.timestamp())


def _figures(group: str, watch: WatchName, facts: _Facts, clusters: tuple[str, ...]) -> Iterator[MetricSample]:
    if watch == "health":
        yield from _register(group, facts, clusters)
    elif watch in _FIGURES:
        yield from _FIGURES[watch](group, facts)


def _register(group: str, facts: _Facts, clusters: tuple[str, ...]) -> Iterator[MetricSample]:
    phase, active, held = facts.get("phase"), facts.get("active"), facts.get("held")
    known = phase if isinstance(phase, str) and phase in table.PHASES else table.UNKNOWN
    yield from states(table.PHASE, (group,), table.PHASES, known)
    for cluster in clusters:
        yield MetricSample(table.ACTIVE, (group, cluster), float(cluster == active))
    yield MetricSample(table.EPOCH, (group,), number(facts, "epoch"))
    yield MetricSample(table.HELD, (group,), float(held) if isinstance(held, bool) else NOT_KNOWN)


def _standbys(group: str, watched: WatchedGroup) -> Iterator[MetricSample]:
    """Yield what is known of each of several standbys; nothing of a pair, whose figures are the group's."""
    health = watched.of("health")
    roles = texts(health.result.last_record.get(ROLES)) if health.result is not None and not health.reason else {}
    for cluster, role in roles.items():
        yield MetricSample(table.STANDBY_ROLE, (group, cluster, role), 1.0)
        for figure, (watch, fact) in table.STANDBY_FIGURES.items():
            status = watched.of(watch)
            found = status.result.of_standbys if status.result is not None and not status.reason else ()
            facts = next((each.facts for each in found if each.standby == cluster), {})
            yield MetricSample(table.STANDBY_SECONDS, (group, cluster, figure), number(facts, fact))


def _open_checks(group: str, health: WatchStatus) -> Iterator[MetricSample]:
    found = texts(health.result.facts.get("open_checks")) if health.result is not None and not health.reason else {}
    for check, outcome in list(found.items())[:_MOST_CHECKS]:
        yield MetricSample(table.HEALTH_CHECK, (group, check, outcome), 1.0)


def _totals(group: str, health: KeptResult | None) -> Iterator[MetricSample]:
    # A counter that begins again at 0 is what a program that reads counters expects of a lost file.
    total = health.totals.get("denies_added", 0) if health is not None else 0
    yield MetricSample(table.DENIES_ADDED, (group,), float(total) if is_number(total) and total > 0 else 0.0)


def _readiness(group: str, verbs: Iterable[VerbReadiness]) -> Iterator[MetricSample]:
    for verb in verbs:
        yield from states(table.READINESS, (group, verb.verb), table.ANSWERS, verb.answer)
        score = NOT_KNOWN if verb.score is None else float(verb.score)
        yield MetricSample(table.READINESS_SCORE, (group, verb.verb), score)


def _canary(group: str, facts: _Facts) -> Iterator[MetricSample]:
    verdict = facts.get("verdict")
    known = verdict if isinstance(verdict, str) and verdict in table.CANARY_VERDICTS else table.UNKNOWN
    yield from states(table.CANARY_VERDICT, (group,), table.CANARY_VERDICTS, known)
    yield MetricSample(table.CANARY_RPO, (group,), number(facts, "rpo_seconds"))
    yield MetricSample(table.CANARY_LATENCY, (group,), number(facts, "seconds"))


def _lag(group: str, facts: _Facts) -> Iterator[MetricSample]:
    for metric, figure in (
        (table.LAG_RECORDS, "records"),
        (table.LAG_BYTES, "bytes"),
        (table.LAG_SECONDS, "seconds"),
        (table.HEADROOM, "headroom_seconds"),
    ):
        yield MetricSample(metric, (group,), number(facts, figure))
    for percentile in table.PERCENTILES:
        yield MetricSample(table.LATENCY, (group, percentile), number(facts, "latency", percentile))
    yield from _counted(table.CONSUMER_GROUPS, (group,), table.LAG_VERDICTS, facts.get("consumer_groups"))
    yield from _counted(table.FINDINGS_OPEN, (group, "lag"), table.FINDINGS["lag"], facts.get("findings"))


def _checksum(group: str, facts: _Facts) -> Iterator[MetricSample]:
    yield MetricSample(table.VERIFIED_RPO, (group,), number(facts, "verified_rpo_seconds"))
    yield MetricSample(table.UNVERIFIED, (group,), number(facts, "unverified_offsets"))
    yield from _counted(table.FINDINGS_OPEN, (group, "checksum"), table.FINDINGS["checksum"], facts.get("findings"))


def _offsets(group: str, facts: _Facts) -> Iterator[MetricSample]:
    yield MetricSample(table.REDELIVERED, (group, "kafka_dr"), number(facts, "redelivered"))
    yield MetricSample(table.REDELIVERED, (group, "mirrormaker"), number(facts, "mm2_redelivered"))


def _conflicts(group: str, facts: _Facts) -> Iterator[MetricSample]:
    for count in table.CONFLICT_COUNTS:
        yield MetricSample(table.CONFLICTS, (group, count), number(facts, count))


def _counted(
    metric: table.Metric, labels: tuple[str, ...], known: Iterable[str], found: object
) -> Iterator[MetricSample]:
    """Yield a count for each kind: 0 for a kind that was not found, not known if nothing was counted."""
    if not isinstance(found, Mapping):
        yield from (MetricSample(metric, (*labels, kind), NOT_KNOWN) for kind in known)
        return
    for kind in dict.fromkeys((*known, *list(map(str, found))[:_MOST_CHECKS])):
        yield MetricSample(metric, (*labels, kind), number(found, kind) if kind in found else 0.0)


def _frontier_age(group: str, checksum: KeptResult | None, now: datetime) -> Iterator[MetricSample]:
    """Yield how long ago everything was verified: what was not when the audit read the logs was older by its RPO."""
    facts = checksum.facts if checksum is not None else {}
    age = NEVER
    try:
        read = datetime.fromisoformat(facts["at"])
        if is_number(facts["verified_rpo_seconds"]):
            age = (now - read).total_seconds() + facts["verified_rpo_seconds"]
    except (KeyError, TypeError, ValueError):
        pass
    yield MetricSample(table.FRONTIER_AGE, (group,), age)


_FIGURES: dict[WatchName, Callable[[str, _Facts], Iterator[MetricSample]]] = {
    "canary": _canary,
    "lag": _lag,
    "checksum": _checksum,
    "offsets": _offsets,
    "conflicts": _conflicts,
}

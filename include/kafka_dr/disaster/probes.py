"""Looking at a cluster that may be down: every probe beside the others, each with the same short time.

Nothing here waits longer than that, clients that are being made included: what hangs is left behind in its thread.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial

from kafka_dr.audit import AuditKind, AuditResult, AuditVerdict, ResultStore, ResultUnreadable
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.disaster.disaster_rule import VANTAGE
from kafka_dr.disaster.vantage import sees_up
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.fencing import proof
from kafka_dr.replication import Flow
from kafka_dr.runs import background
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.probe import Probe
from kafka_dr.runs.record import Outcome
from kafka_dr.topology import ProtectionGroup

#: Canaries of the last minutes lie among so many offsets at the end of the log.
_LOOK_BACK = 50

TakeProbe = Callable[[], Probe]


def take_probes(
    group: ProtectionGroup, clients: Clients, *, source: str, target: str, seconds: float | None = None
) -> list[Probe]:
    """Take every probe at once.

    :param source: the cluster that may be down
    :param target: the cluster that it replicates to
    :param seconds: what each probe gets; as the topology says where ``None``
    """
    seconds = seconds or group.disaster.probe_seconds
    clients.hurry(source, seconds)
    looks: dict[str, TakeProbe] = {
        "metadata brokers controller": partial(_ask_identity, clients, source),
        "partitions": partial(_partitions, group, clients, source),
        "writes": partial(_writes, group, clients, source, seconds),
        "canary": partial(_canary, group, clients, target),
        "flow": partial(_flow, clients, Flow(group.name, source, target)),
        "lag": partial(_lag, group, clients, Flow(group.name, source, target)),
    }
    looks |= _elsewhere(group, source, seconds)
    return _within(looks, clients, source=source, seconds=seconds)


def ask_vantages(group: ProtectionGroup, clients: Clients, *, source: str, seconds: float) -> list[Probe]:
    """Ask only those elsewhere about a cluster that has just given no answer here."""
    looks = _elsewhere(group, source, seconds)
    silent = Probe("metadata", "failed", f"{source} did not answer when its register was asked for")
    return [silent, *_within(looks, clients, source=source, seconds=seconds)]


def _elsewhere(group: ProtectionGroup, source: str, seconds: float) -> dict[str, TakeProbe]:
    return {
        f"{VANTAGE} {name}": partial(_vantage, name, address, source, seconds)
        for name, address in sorted(group.disaster.vantages.items())
    }


def _within(looks: dict[str, TakeProbe], clients: Clients, *, source: str, seconds: float) -> list[Probe]:
    began = clients.clock.monotonic()
    timed = {name: partial(_timed, look, clients) for name, look in looks.items()}
    answers = background.ask_all(timed, seconds=dict.fromkeys(timed, seconds))
    took = round(clients.clock.monotonic() - began, 3)
    probes = []
    for name, answer in answers.items():
        if isinstance(answer, Probe):
            probes += _split(answer)
        elif name.startswith("metadata") and isinstance(answer, TryAgain):
            # That nobody answers is what this probe is there to see; all others would only say it again.
            probes.append(Probe("metadata", "failed", f"{source} does not answer: {answer}", took))
            probes += [Probe(part, "unknown", "nobody answers", took) for part in ("brokers", "controller")]
        else:
            probes += [Probe(part, "unknown", str(answer), took) for part in _parts(name)]
    return probes


def _parts(name: str) -> list[str]:
    return [name] if name.startswith(VANTAGE) else name.split()


def _timed(look: TakeProbe, clients: Clients) -> Probe:
    began = clients.clock.monotonic()
    found = look()
    passed = round(clients.clock.monotonic() - began, 3)
    return Probe(found.name, found.outcome, found.detail, passed, found.facts)


def _ask_identity(clients: Clients, cluster: str) -> Probe:
    found = clients.cluster(cluster, "operator").topics.identity()
    facts = {"brokers": list(found.brokers), "controller": found.controller}
    return Probe("metadata", "ok", f"{cluster} answers with cluster id {found.cluster_id}", facts=facts)


def _split(probe: Probe) -> list[Probe]:
    """Return what one answer says about several things as a probe of each."""
    if probe.name != "metadata":
        return [probe]
    brokers, controller = probe.facts["brokers"], probe.facts["controller"]
    alive = f"{len(brokers)} brokers are registered"
    led = "there is no controller" if controller is None else f"broker {controller} answers for the controller"
    return [
        probe,
        Probe("brokers", "ok" if brokers else "failed", alive, probe.seconds),
        Probe("controller", "failed" if controller is None else "ok", led, probe.seconds),
    ]


def _partitions(group: ProtectionGroup, clients: Clients, cluster: str) -> Probe:
    topics = clients.cluster(cluster, "operator").topics
    described = topics.describe(name for name in topics.names() if group.owns_topic(name))
    offline = sorted(
        TopicPartition(name, number)
        for name, topic in described.items()
        for number, leader in enumerate(topic.leaders)
        if leader < 0
    )
    if not offline:
        return Probe("partitions", "ok", f"every partition of {len(described)} topics has a leader")
    shown = ", ".join(map(str, offline[:5]))
    return Probe("partitions", "failed", f"{len(offline)} partitions have no leader: {shown}")


def _writes(group: ProtectionGroup, clients: Clients, cluster: str, seconds: float) -> Probe:
    probe: KafkaCluster = clients.cluster(cluster, "probe")
    described = clients.cluster(cluster, "operator").topics.describe([group.canary_topic])
    found = proof.writes_allowed(
        probe, described[group.canary_topic].partitions, clock=clients.clock, deadline_seconds=seconds / 2
    )
    return Probe("writes", found.outcome, found.detail)


def _canary(group: ProtectionGroup, clients: Clients, target: str) -> Probe:
    """Say how old the newest canary is that arrived; whether it is too old is the canary's own business."""
    reader = clients.cluster(target, "audit")
    partitions = reader.topics.describe([group.canary_topic])[group.canary_topic].partitions
    ends, starts = reader.topics.last_stable_offsets(partitions), reader.topics.log_starts(partitions)
    ranges = {p: OffsetRange(max(starts[p], ends[p] - _LOOK_BACK), ends[p]) for p in partitions}
    newest = max((record.timestamp_ms for record in reader.log.read(ranges, stall_seconds=3)), default=None)
    if newest is None:
        return Probe("canary", "unknown", f"no canary was found at the end of its log on {target}")
    age = round(clients.clock.now().timestamp() - newest / 1000, 1)
    late = age > 60 + group.thresholds.canary_late_seconds
    said = f"the newest canary on {target} is {age:g} s old"
    return Probe("canary", "failed" if late else "ok", said, facts={"age_seconds": age})


def _flow(clients: Clients, flow: Flow) -> Probe:
    status = clients.replicator(flow).status()
    said = f"{flow.connector} is {status.state} {status.detail}".rstrip()
    return Probe("flow", "ok" if status.state == "running" else "failed", said)


def _lag(group: ProtectionGroup, clients: Clients, flow: Flow) -> Probe:
    """Say what the newest lag audit said; it is older than the disaster, and one that is much older says nothing."""
    try:
        kept = ResultStore(clients.evidence_root).newest(
            AuditKind.LAG, group=flow.group, source=flow.source, target=flow.target
        )
    except (ResultUnreadable, OSError) as error:
        return Probe("lag", "unknown", f"the newest lag audit cannot be read: {error}")
    if kept is None:
        return Probe("lag", "unknown", f"no lag audit of {flow} was ever kept")
    limit = group.audits.lag_max_age_seconds
    return lag_probe(kept, now=clients.clock.now(), limit_seconds=limit, threshold=group.thresholds.max_lag_seconds)


def lag_probe(kept: AuditResult, *, now: datetime, limit_seconds: float, threshold: float) -> Probe:
    """Say what a lag audit says of a cluster that nobody may be able to ask any more.

    :param limit_seconds: how old it may be
    :param threshold: how far behind a copy may be before that alone is a reason to move the group, as planned
    """
    said = f"{kept.sentence} (at {kept.at:%Y-%m-%d %H:%M:%S} UTC)"
    age = (now - kept.at).total_seconds()
    if age > limit_seconds:
        old = f"the newest lag audit is {age:.0f} s old, and may be {limit_seconds:g} s"
        return Probe("lag", "unknown", f"{old}: {said}")
    outcomes: dict[AuditVerdict, Outcome] = {AuditVerdict.GREEN: "ok", AuditVerdict.RED: "failed"}
    over = kept.behind_seconds is not None and kept.behind_seconds > threshold
    return Probe("lag", outcomes.get(kept.verdict, "unknown"), said, facts={"over_threshold": over})


def _vantage(name: str, address: str, cluster: str, seconds: float) -> Probe:
    try:
        up = sees_up(address, cluster, seconds=seconds)
    except KafkaDrError as error:
        return Probe(f"{VANTAGE} {name}", "unknown", str(error))
    said = f"{name} sees {cluster} {'up' if up else 'down'}"
    return Probe(f"{VANTAGE} {name}", "ok" if up else "failed", said)

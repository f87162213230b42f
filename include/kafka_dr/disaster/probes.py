"""Probes of a cluster that may be down: all at the same time, each with the same short timeout.

Nothing waits longer than that timeout, not even for clients that are being created: a call that hangs stays in its
thread, and its probe is ``unknown``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from kafka_dr.audit.result import AuditKind, AuditResult, AuditVerdict, ResultStore, ResultUnreadable
from kafka_dr.causes import cause
from kafka_dr.clusters import KafkaCluster, OffsetRange, TopicPartition
from kafka_dr.counted import counted
from kafka_dr.disaster.disaster_rule import REGISTER, VANTAGE
from kafka_dr.disaster.vantage import probe_vantage
from kafka_dr.durations import duration
from kafka_dr.errors import ConnectionMistake, TryAgain
from kafka_dr.fencing import proof
from kafka_dr.outcomes import Outcome, Probe, worst
from kafka_dr.replication.flow import Flow
from kafka_dr.runs import background
from kafka_dr.runs.clients import Clients, OtherCluster, wrong_cluster_id
from kafka_dr.topology.model import ProtectionGroup

#: How many offsets at the end of each log are read: the canaries of the last minutes are among them.
_OFFSETS_READ = 50

#: A question that is asked together with the probes, and is none itself.
_CONNECTION = "connection"
#: How long each vantage may take to answer at a quiet time, in seconds.
_VANTAGE_SECONDS = 5.0

TakeProbe = Callable[[], Probe]


def take_probes(
    group: ProtectionGroup, clients: Clients, *, source: str, target: str, seconds: float | None = None
) -> list[Probe]:
    """Take every probe at the same time.

    :param source: the cluster that may be down
    :param target: the cluster that it is replicated to
    :param seconds: the timeout of each probe; the topology's ``probe_seconds`` if ``None``
    """
    seconds = seconds or group.disaster.probe_seconds
    clients.hurry(source, seconds)
    probes: dict[str, TakeProbe] = {
        _CONNECTION: partial(_connection, clients, source),
        "metadata brokers controller": partial(_ask_identity, clients, source),
        "partitions": partial(_partitions, group, clients, source),
        "writes": partial(_writes, group, clients, source, seconds),
        REGISTER: partial(_register, clients, source),
        "canary": partial(_canary, group, clients, target),
        "flow": partial(_flow, clients, Flow(group.flow_group(source), source, target)),
        "lag": partial(_lag, group, clients, Flow(group.flow_group(source), source, target)),
    }
    probes |= _vantages(group, clients, source, seconds)
    return with_flow_judged(_take_all(probes, clients, source=source, seconds=seconds), source)


def with_flow_judged(probes: Sequence[Probe], source: str) -> list[Probe]:
    """Return the probes; of a flow whose source does not take writes, *running* does not say that it copies."""
    serves = any(each.name == "writes" and each.outcome == "ok" for each in probes)
    said = f". It is not known whether it copies, because {source} was not seen to take writes"
    return [
        replace(each, outcome="unknown", detail=f"{each.detail}{said}")
        if each.name == "flow" and each.outcome == "ok" and not serves
        else each
        for each in probes
    ]


def ask_vantages(group: ProtectionGroup, clients: Clients, *, source: str, seconds: float) -> list[Probe]:
    """Ask only the vantages, about a cluster that has just not answered this installation."""

    def silent() -> Probe:
        clients.cluster(source, "operator").refuse_mistake()
        return Probe("metadata", "failed", f"{source} did not answer when its register was read")

    asked: dict[str, TakeProbe] = {"metadata": silent, **_vantages(group, clients, source, seconds)}
    return _take_all(asked, clients, source=source, seconds=seconds)


def probe_vantages(group: ProtectionGroup, clients: Clients, *, source: str) -> list[Probe]:
    """Ask every declared vantage about a cluster at a quiet time; ``unknown`` for one without a usable answer."""
    vantages = _vantages(group, clients, source, _VANTAGE_SECONDS)
    return _take_all(vantages, clients, source=source, seconds=_VANTAGE_SECONDS)


def _vantages(group: ProtectionGroup, clients: Clients, source: str, seconds: float) -> dict[str, TakeProbe]:
    read, named = clients.connections.http, group.disaster.vantage_connections
    logins = {name: partial(read, connection) for name, connection in named.items()}
    return {
        f"{VANTAGE} {name}": partial(probe_vantage, name, address, source, seconds, login=logins.get(name))
        for name, address in sorted(group.disaster.vantages.items())
    }


def _take_all(probes: dict[str, TakeProbe], clients: Clients, *, source: str, seconds: float) -> list[Probe]:
    began = clients.clock.monotonic()
    timed = {name: partial(_timed, take, clients) for name, take in probes.items()}
    answers = background.answers_within(timed, seconds=seconds)
    took = round(clients.clock.monotonic() - began, 3)
    taken = []
    mistake = answers.pop(_CONNECTION, None)
    for name, answer in answers.items():
        if isinstance(answer, Probe):
            taken += _split(answer)
        elif name.startswith("metadata") and isinstance(mistake, ConnectionMistake):
            taken += [Probe(part, "unknown", str(mistake), took) for part in _parts(name)]
        elif name.startswith("metadata") and isinstance(answer, TryAgain):
            # This probe shows that the cluster does not answer; the other two parts of it would only repeat that.
            taken.append(Probe("metadata", "failed", f"{source} does not answer: {answer}", took))
            silent = f"{source} does not answer"
            taken += [Probe(part, "unknown", silent, took) for part in ("brokers", "controller")]
        else:
            taken += [Probe(part, "unknown", str(answer), took) for part in _parts(name)]
    return taken


def _parts(name: str) -> list[str]:
    return [name] if name.startswith(VANTAGE) else name.split()


def _timed(take: TakeProbe, clients: Clients) -> Probe:
    began = clients.clock.monotonic()
    found = take()
    passed = round(clients.clock.monotonic() - began, 3)
    return Probe(found.name, found.outcome, found.detail, passed, found.facts)


def _connection(clients: Clients, cluster: str) -> Probe:
    """Find out, before the time of the probes is over, whether a silent cluster only refuses what we connect with.

    :raises ConnectionMistake: it does
    """
    clients.cluster(cluster, "operator").refuse_mistake()
    return Probe(_CONNECTION, "ok", "")


def _ask_identity(clients: Clients, cluster: str) -> Probe:
    found = clients.cluster(cluster, "operator").topics.identity()
    if wrong := wrong_cluster_id(clients, cluster, found.cluster_id):
        raise OtherCluster(wrong)
    facts = {"brokers": list(found.brokers), "controller": found.controller}
    return Probe("metadata", "ok", f"{cluster} answers with cluster id {found.cluster_id}", facts=facts)


def _split(probe: Probe) -> list[Probe]:
    """Return one probe for each thing that the answer about the cluster's metadata shows."""
    if probe.name != "metadata" or probe.outcome != "ok":
        return [probe]
    brokers, controller = probe.facts["brokers"], probe.facts["controller"]
    alive = f"{counted(len(brokers), 'broker is', 'brokers are')} registered"
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
        return Probe("partitions", "ok", f"every partition of {len(described)} topics on {cluster} has a leader")
    shown = ", ".join(map(str, offline[:5]))
    many = counted(len(offline), "partition has", "partitions have")
    return Probe("partitions", "failed", f"on {cluster} {many} no leader: {shown}")


def _writes(group: ProtectionGroup, clients: Clients, cluster: str, seconds: float) -> Probe:
    probe: KafkaCluster = clients.cluster(cluster, "probe")
    described = clients.cluster(cluster, "operator").topics.describe([group.canary_topic])
    found = proof.writes_allowed(
        probe, described[group.canary_topic].partitions, clock=clients.clock, deadline_seconds=seconds / 2
    )
    if found.outcome == "failed":
        return Probe("writes", "unknown", f"{found.detail}: the brokers answer, and the probe lacks the right to write")
    return Probe("writes", worst((found,)), found.detail)


def _register(clients: Clients, cluster: str) -> Probe:
    """Return whether the register can be read and takes records: a planned failover needs it, applications do not."""
    if problem := clients.register(cluster).problem():
        return Probe(REGISTER, "failed", problem)
    return Probe(REGISTER, "ok", f"the register of {cluster} can be read and takes records")


def _canary(group: ProtectionGroup, clients: Clients, target: str) -> Probe:
    """Return how old the newest canary on the target is, judged by the group's canary threshold."""
    reader = clients.cluster(target, "audit")
    partitions = reader.topics.describe([group.canary_topic])[group.canary_topic].partitions
    ends, starts = reader.topics.last_stable_offsets(partitions), reader.topics.log_starts(partitions)
    ranges = {p: OffsetRange(max(starts[p], ends[p] - _OFFSETS_READ), ends[p]) for p in partitions}
    newest = max((record.timestamp_ms for record in reader.log.read(ranges, stall_seconds=3)), default=None)
    if newest is None:
        return Probe(
            "canary", "unknown", f"the last {_OFFSETS_READ} offsets of {group.canary_topic} on {target} hold no canary"
        )
    age = round(clients.clock.now().timestamp() - newest / 1000, 1)
    late = age > 60 + group.thresholds.canary_late_seconds
    said = f"the newest canary on {target} is {duration(age)} old"
    return Probe("canary", "failed" if late else "ok", said, facts={"age_seconds": age})


def _flow(clients: Clients, flow: Flow) -> Probe:
    status = clients.replicator(flow).status()
    said = f"{flow.name} is {status}"
    return Probe("flow", "ok" if status.state == "running" else "failed", said)


def _lag(group: ProtectionGroup, clients: Clients, flow: Flow) -> Probe:
    """Return what the newest lag audit said: it was made before the disaster, and an old one says nothing."""
    try:
        kept = ResultStore(clients.evidence_root).newest(
            AuditKind.LAG, group=flow.group, source=flow.source, target=flow.target
        )
    except (ResultUnreadable, OSError) as error:
        return Probe("lag", "unknown", f"the newest lag audit cannot be read: {cause(error)}")
    if kept is None:
        return Probe("lag", "unknown", f"no lag audit of {flow} was ever stored")
    limit = group.audits.lag_max_age_seconds
    return lag_probe(kept, now=clients.clock.now(), limit_seconds=limit, threshold=group.thresholds.max_lag_seconds)


def lag_probe(kept: AuditResult, *, now: datetime, limit_seconds: float, threshold: float) -> Probe:
    """Return what a lag audit says about a cluster that may no longer answer.

    :param limit_seconds: how old the audit may be
    :param threshold: the replication lag, in seconds, above which a planned failover is a reasonable answer
    """
    said = f"{kept.sentence} (at {kept.at:%Y-%m-%d %H:%M:%S} UTC)"
    age = (now - kept.at).total_seconds()
    if age > limit_seconds:
        old = f"the newest lag audit is {duration(age)} old, {duration(limit_seconds)} are allowed"
        return Probe("lag", "unknown", f"{old}: {said}")
    found: dict[AuditVerdict, Outcome] = {AuditVerdict.RED: "failed", AuditVerdict.WARNING: "failed"}
    outcomes = {**found, AuditVerdict.GREEN: "ok"}
    over = kept.behind_seconds is not None and kept.behind_seconds > threshold
    return Probe("lag", outcomes.get(kept.verdict, "unknown"), said, facts={"over_threshold": over})

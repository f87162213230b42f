"""What must hold between the keys of a topology, judged on the values as they are written.

The rules read the document and not the models, so that they still find mistakes when the shape is broken elsewhere:
the editor of the file sees all mistakes at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from kafka_dr.topology.access_rules_rules import access_rules_mistakes
from kafka_dr.topology.addresses import address_mistakes
from kafka_dr.topology.blocks_rules import mistakes_of_blocks
from kafka_dr.topology.document import Document, Path
from kafka_dr.topology.drill_rules import drill_mistakes
from kafka_dr.topology.existing_rules import existing_mistakes
from kafka_dr.topology.flow import FlowSpec
from kafka_dr.topology.group_keys import AuditsSpec, Thresholds, Timing
from kafka_dr.topology.mistakes import Mistake
from kafka_dr.topology.names import covers
from kafka_dr.topology.naming_rules import naming_mistakes
from kafka_dr.topology.objectives import Objectives
from kafka_dr.topology.observed_rules import observed_mistakes, something_declared
from kafka_dr.topology.ownership import ownership_mistakes
from kafka_dr.topology.pattern_rules import pattern_mistakes
from kafka_dr.topology.residency import residency_mistakes
from kafka_dr.topology.route import ROUTE_KINDS
from kafka_dr.topology.route_rules import route_mistakes
from kafka_dr.topology.stretch_rules import stretch_mistakes

_ROLES = ("operator", "probe", "audit", "replicator")
_KEY_CLASSES = ("must_match", "at_least", "may_differ", "site_specific")
#: Keys whose values are words: none of them is more than another.
_WORDS = (
    "cleanup.policy",
    "compression.type",
    "message.timestamp.type",
    "preallocate",
    "unclean.leader.election.enable",
)
_PARTITIONS = "partitions"
_PRINCIPAL_KEYS = ("operator_principal", "probe_principal", "replicator_principal", "audit_principal")


def rule_mistakes(document: Document) -> Iterator[Mistake]:
    """Yield everything that contradicts something else in the file."""
    yield from _same_value_twice(document)
    yield from _sasl(document)
    yield from _tls(document)
    yield from address_mistakes(document)
    yield from access_rules_mistakes(document)
    yield from _airflow(document)
    yield from _notified_groups(document)
    for group in document.keys("protection_groups"):
        here = ("protection_groups", group)
        yield from _clusters(document, here)
        yield from _principals(document, here)
        yield from _approvers(document, here)
        yield from _approver_keys(document, here)
        yield from _disaster(document, here)
        yield from _vantage_connections(document, here)
        yield from _config_classes(document, here)
        yield from _possible(document, here)
        yield from choice_mistakes(document, here)
        yield from reader_mistakes(document, here)
        yield from drill_mistakes(document, here)
        yield from existing_mistakes(document, here)
        yield from naming_mistakes(document, here)
        yield from route_mistakes(document, here)
    yield from mistakes_of_blocks(document)
    yield from ownership_mistakes(document)
    yield from residency_mistakes(document)
    yield from pattern_mistakes(document)
    yield from observed_mistakes(document)
    yield from stretch_mistakes(document)
    yield from something_declared(document)


def _airflow(document: Document) -> Iterator[Mistake]:
    where = document.at("airflow_runs_in")
    if isinstance(where, str) and where not in (*document.keys("clusters"), "elsewhere"):
        yield document.mistake(
            ("airflow_runs_in",), f"{where!r} is not a cluster", "name a cluster, or write elsewhere"
        )


def _notified_groups(document: Document) -> Iterator[Mistake]:
    declared = document.keys("protection_groups")
    for name in document.keys("notifications"):
        path = ("notifications", name, "groups")
        groups = document.at(*path)
        for group in groups if isinstance(groups, list) else ():
            if group not in declared:
                yield document.mistake(path, f"{group!r} is not a protection group", "name groups of this file")


def _same_value_twice(document: Document) -> Iterator[Mistake]:
    """Find ids, connections and routes that two owners share although each needs its own."""
    clusters = [("clusters", name) for name in document.keys("clusters")]
    groups = [("protection_groups", name) for name in document.keys("protection_groups")]
    connections = [(*here, "connections", role) for here in clusters for role in _ROLES]
    routes = [[(*here, "route", kind.KEPT_AT) for here in groups] for kind in ROUTE_KINDS.values()]
    shared: tuple[tuple[Sequence[Path], str], ...] = (
        ([(*here, "cluster_id") for here in clusters], "each cluster has an id of its own"),
        (connections, "use one connection for each role of each cluster"),
        ([(*here, "connect") for here in clusters], "each cluster has a Connect cluster of its own"),
        *((paths, "give each group a route of its own") for paths in routes),
    )
    for paths, word in shared:
        first: dict[object, Path] = {}
        for path in paths:
            value = document.at(*path)
            if isinstance(value, str) and (earlier := first.setdefault(value, path)) != path:
                seen = f"{value!r} is already given at {document.place(earlier)}"
                yield document.mistake(path, seen, word)


def _sasl(document: Document) -> Iterator[Mistake]:
    for cluster in document.keys("clusters"):
        here = ("clusters", cluster, "replicator")
        protocol, mechanism = document.at(*here, "security_protocol"), document.at(*here, "sasl_mechanism")
        if isinstance(protocol, str) and protocol.startswith("SASL_") and mechanism is None:
            seen = f"{protocol} is given without sasl_mechanism"
            yield document.mistake((*here, "security_protocol"), seen, "add sasl_mechanism, such as SCRAM-SHA-512")
        if protocol == "SSL" and mechanism is not None:
            seen = "sasl_mechanism is given with SSL, which does not use it"
            yield document.mistake((*here, "sasl_mechanism"), seen, "write SASL_SSL, or remove sasl_mechanism")


def _tls(document: Document) -> Iterator[Mistake]:
    """Find files that a listener has no use for, and a listener that could not authenticate the workers."""
    for cluster in document.keys("clusters"):
        here = ("clusters", cluster, "replicator")
        protocol, keystore = document.at(*here, "security_protocol"), document.at(*here, "keystore_file")
        for key in ("ca_file", "keystore_file"):
            if protocol == "SASL_PLAINTEXT" and document.at(*here, key) is not None:
                seen = f"{key} is given with SASL_PLAINTEXT, which does not use it"
                yield document.mistake((*here, key), seen, f"write SASL_SSL, or remove {key}")
        if protocol == "SSL" and keystore is None:
            seen = "SSL is given without keystore_file, so every worker would be ANONYMOUS and no flow could be fenced"
            yield document.mistake((*here, "security_protocol"), seen, "add keystore_file, or write SASL_SSL")
        if document.at(*here, "keystore_is_encrypted") is True and keystore is None:
            seen = "keystore_is_encrypted is true and there is no keystore_file"
            yield document.mistake((*here, "keystore_is_encrypted"), seen, "add keystore_file, or remove this line")


def _clusters(document: Document, here: Path) -> Iterator[Mistake]:
    declared = document.keys("clusters")
    members = document.texts(*here, "clusters")
    first: dict[str, Path] = {}
    for name, path in members:
        if name not in declared:
            known = f"declared are {', '.join(declared)}" if declared else "no cluster is declared"
            yield document.mistake(path, f"there is no cluster {name!r}", f"{known}: name one of them, or add it")
        if (earlier := first.setdefault(name, path)) != path:
            seen = f"{name!r} is already given in line {document.line(earlier)}"
            yield document.mistake(path, seen, "keep one of the two")
    active = document.at(*here, "initial_active")
    if isinstance(active, str) and members and active not in first:
        seen = f"{active!r} is not one of the group's clusters"
        yield document.mistake((*here, "initial_active"), seen, f"write one of {', '.join(first)}")


def _principals(document: Document, here: Path) -> Iterator[Mistake]:
    """A fence denies the applications and the probe: a principal that it must not stop may not be among them."""
    roles = {key: document.at(*here, key) for key in _PRINCIPAL_KEYS}
    applications = document.texts(*here, "principals")
    supers = {name for name, _ in document.texts(*here, "super_users")}
    for name, path in applications:
        if name in supers:
            seen = f"{name!r} is also a super user, which no ACL can stop from writing"
            yield document.mistake(path, seen, "run the application as a principal without super rights")
        for key in (key for key, value in roles.items() if value == name):
            seen = f"{name!r} is also the {key}, so the fence would stop the failover itself"
            yield document.mistake(path, seen, "give applications principals of their own")
    first: dict[object, str] = {}
    for key, value in roles.items():
        if isinstance(value, str) and (earlier := first.setdefault(value, key)) != key:
            seen = f"{value!r} is also the {earlier}, so that one could not be denied without the other"
            yield document.mistake((*here, key), seen, "use a principal for each role")
    if roles["probe_principal"] in supers or roles["replicator_principal"] in supers:
        key = "probe_principal" if roles["probe_principal"] in supers else "replicator_principal"
        seen = f"{roles[key]!r} is a super user, so no fence could be proven or applied with it"
        yield document.mistake((*here, key), seen, "use a principal without super rights")


def _approvers(document: Document, here: Path) -> Iterator[Mistake]:
    first: dict[str, Path] = {}
    for name, path in document.texts(*here, "approvers"):
        if (earlier := first.setdefault(name, path)) != path:
            seen = f"{name!r} is already given in line {document.line(earlier)}"
            yield document.mistake(path, seen, "name each approver once")
    if document.at(*here, "approvers") == [] and not document.texts(*here, "approver_roles"):
        seen = "this list is empty, and there are no approver_roles"
        yield document.mistake((*here, "approvers"), seen, "name a user who may approve, or add approver_roles")


def _approver_keys(document: Document, here: Path) -> Iterator[Mistake]:
    """Find keys of people who may not approve, and one key of two people, who could then approve as both."""
    approvers = {name for name, _ in document.texts(*here, "approvers")}
    first: dict[object, str] = {}
    for name in document.keys(*here, "approver_keys"):
        path = (*here, "approver_keys", name)
        if name not in approvers and not document.texts(*here, "approver_roles"):
            yield document.mistake(path, f"{name!r} is not an approver", "name one of approvers, or add the name there")
        if (owner := first.setdefault(document.at(*path), name)) != name:
            yield document.mistake(path, f"this is also the key of {owner!r}", "each approver has a key of their own")
    for name in document.keys(*here, "requester_keys"):
        path = (*here, "requester_keys", name)
        if (owner := first.setdefault(document.at(*path), name)) != name:
            yield document.mistake(path, f"this is also the key of {owner!r}", "each person has a key of their own")


def _disaster(document: Document, here: Path) -> Iterator[Mistake]:
    """Find what could never come true: two approvers of one, and a proposal that nobody could second."""
    spec = (*here, "disaster")
    approvers = {name for name, _ in document.texts(*here, "approvers")}
    roles = document.texts(*here, "approver_roles")
    if document.at(*spec, "approvers_needed") == 2 and len(approvers) == 1 and not roles:
        seen = f"two approvers are needed, and {next(iter(approvers))!r} is the only one"
        yield document.mistake((*spec, "approvers_needed"), seen, "name another approver, or write 1")
    needed = document.at(*spec, "vantages_needed")
    needed = 2 if needed is None else needed
    vantages = 1 + len(document.keys(*spec, "vantages"))
    if document.at(*spec, "auto_propose") is True and isinstance(needed, int) and needed > vantages:
        seen = f"{needed} vantages have to see a cluster down, and there are {vantages}, so nothing is ever proposed"
        yield document.mistake((*spec, "auto_propose"), seen, "add vantages, or write false")


def _vantage_connections(document: Document, here: Path) -> Iterator[Mistake]:
    """Find logins of vantages that are not declared: the vantage that was meant would be asked without one."""
    vantages = document.keys(*here, "disaster", "vantages")
    for name in document.keys(*here, "disaster", "vantage_connections"):
        if name not in vantages:
            path = (*here, "disaster", "vantage_connections", name)
            yield document.mistake(path, f"{name!r} is not a vantage", "name one of vantages, or add its address there")


def _config_classes(document: Document, here: Path) -> Iterator[Mistake]:
    """Find configuration keys that are in two classes, in one twice, or in one that can have no effect."""
    first: dict[str, Path] = {}
    for section in _KEY_CLASSES:
        for key, path in document.texts(*here, "config_sync", section):
            if (earlier := first.setdefault(key, path)) != path:
                seen = f"{key!r} is already given at {document.place(earlier)}"
                yield document.mistake(path, seen, "leave it in the one list that says what is wanted")
            if key == _PARTITIONS and section != "must_match":
                seen = (
                    "each record keeps its partition when it is copied, so both clusters need the same number of them"
                )
                yield document.mistake(path, seen, "take 'partitions' out: it always must match")
            if key in _WORDS and section == "at_least":
                seen = f"the values of {key!r} are words, of which none is more than another"
                yield document.mistake(path, seen, "put it into must_match or may_differ")


@dataclass(frozen=True, slots=True)
class _Number:
    """A number that counts: as written, or the default where nothing is written."""

    key: str
    value: float
    path: Path

    def __str__(self) -> str:
        return f"{self.key} ({self.value:g} s)"


def _possible(document: Document, here: Path) -> Iterator[Mistake]:
    """Find objectives that the group's own waiting times break before anything has gone wrong."""

    def number(model: type[BaseModel], section: str, key: str) -> _Number | None:
        value: object = document.at(*here, section, key)
        if value is None:
            value = model.model_fields[key].default
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
            return None  # reported as a wrong value already
        return _Number(f"{section}.{key}", float(value), (*here, section, key))

    rto = number(Objectives, "objectives", "rto_seconds")
    rpo = number(Objectives, "objectives", "rpo_seconds")
    outage = number(Objectives, "objectives", "write_outage_seconds")
    drain = number(Timing, "timing", "drain_seconds")
    grace = number(Timing, "timing", "transaction_grace_seconds")
    confirm = number(Timing, "timing", "confirm_seconds")
    deadline = number(Timing, "timing", "step_deadline_seconds")
    several = len(list(document.texts(*here, "clusters"))) > 2
    fetch = number(Timing, "timing", "fetch_seconds") if several else None
    waits = document.at(*here, "flow", "order") == "copy_first"
    copies = number(FlowSpec, "flow", "copy_first_seconds") if waits else None
    late = number(Thresholds, "thresholds", "canary_late_seconds")
    age = number(Thresholds, "thresholds", "max_record_age_seconds")
    latency = number(Thresholds, "thresholds", "max_replication_latency_seconds")
    lag = number(Thresholds, "thresholds", "max_lag_seconds")
    checked = number(AuditsSpec, "audits", "checksum_max_age_seconds")
    kept = number(AuditsSpec, "audits", "keep_fingerprints_seconds")
    for small, large, why in (
        (outage, rto, "an outage of writes is part of the recovery time"),
        (drain, outage, "groups drain while writes are refused"),
        (grace, outage, "open transactions get their grace while writes are refused"),
        (confirm, rto, "a disaster is confirmed before recovery begins"),
        (late, rpo, "a canary that is late only beyond the objective would warn when it is already broken"),
        (drain, deadline, "the step would give up before groups have drained"),
        (grace, deadline, "the step would give up within the grace"),
        (fetch, deadline, "the step that fetches would not be tried again if an answer is lost after it"),
        (copies, deadline, "the step that waits for readers would not be tried again if an answer is lost after it"),
        (copies, outage, "writes are refused until groups have read their copies"),
        (latency, age, "a record within the latency would count as missing"),
        (age, lag, "a failover would be refused before any audit is red"),
        (checked, kept, "the next audit compares with fingerprints of the last one"),
    ):
        if small and large and small.value > large.value:
            seen = f"{small} is longer than {large}, but {why}"
            yield document.mistake(small.path, seen, f"write at most {large.value:g}, or raise {large.key}")
    if drain and grace and outage and max(drain.value, grace.value) <= outage.value < drain.value + grace.value:
        seen = f"{drain} and {grace} follow one another and together are longer than {outage}"
        yield document.mistake(drain.path, seen, f"leave both together at most {outage.value:g}")


def choice_mistakes(document: Document, here: Path) -> Iterator[Mistake]:
    """Yield every choice for a consumer group that does not belong to the protection group at this path."""
    policy = (*here, "groups_policy")
    named = [(name, (*policy, "start_of", name)) for name in document.keys(*policy, "start_of")]
    named += [*document.texts(*policy, "not_moved"), *document.texts(*policy, "streams_moved")]
    literals = [name for name, _ in document.texts(*here, "consumer_groups")]
    prefixes = [prefix for prefix, _ in document.texts(*here, "consumer_group_prefixes")]
    for name, path in named:
        if not covers(name, literals=literals, prefixes=prefixes):
            seen = f"{name!r} is none of this group's consumer groups, so nothing would come of it"
            yield document.mistake(path, seen, "name one of them, or add it to consumer_groups")
    yield from _start_time_mistakes(document, policy)
    left = {name for name, _ in document.texts(*policy, "not_moved")}
    for name, path in document.texts(*policy, "streams_moved"):
        if name in left:
            seen = f"{name!r} is in not_moved, so a failover does not move its offsets"
            yield document.mistake(path, seen, "name it in one of the two lists")


def _start_time_mistakes(document: Document, policy: Path) -> Iterator[Mistake]:
    """Yield a choice of ``at_time`` without a time, or a time that no choice uses."""
    choices = [(*policy, "start"), (*policy, "unknown_offsets")]
    choices += [(*policy, "start_of", name) for name in document.keys(*policy, "start_of")]
    chosen = [path for path in choices if document.at(*path) == "at_time"]
    given = document.at(*policy, "start_time") is not None
    if chosen and not given:
        expected = "add start_time with its time zone, such as 2026-11-27T04:03:00Z"
        yield document.mistake(chosen[0], "at_time needs to know the time", expected)
    if given and not chosen:
        seen = "no choice is at_time, so nothing would come of it"
        yield document.mistake((*policy, "start_time"), seen, "set start, start_of or unknown_offsets to at_time")


def reader_mistakes(document: Document, here: Path) -> Iterator[Mistake]:
    """Yield every declared reader of the protection group at this path that it moves, or fences, as its own."""
    readers = (*here, "readers")
    fenced = {name for name, _ in document.texts(*here, "principals")}
    for name, path in document.texts(*readers, "principals"):
        if name in fenced:
            seen = f"{name!r} is among the group's principals, which the fence stops from reading"
            yield document.mistake(path, seen, "name it in one of the two lists")
    literals = [name for name, _ in document.texts(*here, "consumer_groups")]
    prefixes = [prefix for prefix, _ in document.texts(*here, "consumer_group_prefixes")]
    for name, path in document.texts(*readers, "consumer_groups"):
        if covers(name, literals=literals, prefixes=prefixes):
            seen = f"{name!r} is one of this group's consumer groups, which are moved"
            yield document.mistake(path, seen, "name it in one of the two lists")

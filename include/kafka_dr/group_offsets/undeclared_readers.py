"""Readers of a protection group's topics that are declared nowhere: no failover moves them, and nobody warns them.

Two questions: who *may* read, by the brokers' own rule over all ACLs; and which consumer groups outside the declared
names *do*, by what they have committed or by what their live members read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial

from kafka_dr import parallel
from kafka_dr.checks.authorizers import authorizer_of, not_by_acls
from kafka_dr.clusters import AclOperation, ResourceType, TopicPartition
from kafka_dr.clusters.group_reading import LiveReading
from kafka_dr.codec import StoredDocument
from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError
from kafka_dr.fencing.authorizer import EVERYONE
from kafka_dr.outcomes import Check, CheckOutcome
from kafka_dr.runs.record import first_few
from kafka_dr.runs.run import Run
from kafka_dr.topology.names import OWN_GROUP_PREFIXES

NAME = "readers_declared"
#: What a sentence names one by one; the facts hold all of it.
_MOST_NAMED = 5
#: How long groups may take to rebalance: if the answer stays unknown, nothing is lost.
_SETTLE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Reader(StoredDocument):
    """A consumer group that reads the topics and is not moved with them.

    :param topics: of the protection group, that it reads
    :param positions: how many partitions of these it has committed to
    :param live: whether members read them now
    :param belongs_to: the protection group whose consumer group it is; empty if there is none
    """

    cluster: str
    group: str
    topics: tuple[str, ...]
    positions: int
    live: bool
    belongs_to: str = ""

    def __str__(self) -> str:
        how = [counted(self.positions, "position")] if self.positions else []
        how += ["live members"] if self.live else []
        more = f" and {len(self.topics) - 1} more topics" if len(self.topics) > 1 else ""
        whose = f", of the protection group {self.belongs_to}" if self.belongs_to else ""
        return f"{self.group} reads {self.topics[0]}{more} on {self.cluster} ({' and '.join(how)}{whose})"


@dataclass(frozen=True, slots=True)
class Undeclared:
    """The readers of one cluster that are declared nowhere.

    :param principals: who may read, a sentence each
    :param unknown: what could not be seen, and why, a sentence each
    """

    principals: tuple[str, ...] = ()
    groups: tuple[Reader, ...] = ()
    unknown: tuple[str, ...] = ()


def readers_declared(run: Run, clusters: Collection[str]) -> Check:
    """Answer for a preflight: are all declared that may read, or do?"""
    return judged(run, look(run, clusters))


def look(run: Run, clusters: Collection[str]) -> Undeclared:
    """Ask clusters, at once, who may read the protection group's topics and who does."""
    found = parallel.ask_all(partial(_look_at, run), clusters).values()
    return Undeclared(
        tuple(each for one in found for each in one.principals),
        tuple(each for one in found for each in one.groups),
        tuple(each for one in found for each in one.unknown),
    )


def judged(run: Run, found: Undeclared) -> Check:
    """Return what the policy makes of what was found. A warning is excused: shown, approved, and never ok."""
    seen = [*found.principals, *map(str, found.groups)]
    facts = {
        "principals": list(found.principals),
        "groups": [reader.to_json() for reader in found.groups],
        "unknown": list(found.unknown),
    }
    if not seen and not found.unknown:
        return Check(NAME, "ok", "everybody who may read, and every group that does, is declared", facts)
    outcome: CheckOutcome = "failed" if seen else "unknown"
    if run.group.readers.undeclared == "warn":
        outcome = "excused"
    parts = [f"not declared, and not moved: {'; '.join(first_few(seen, _MOST_NAMED))}"] if seen else []
    parts += [f"not known: {'; '.join(first_few(found.unknown, _MOST_NAMED))}"] if found.unknown else []
    todo = "declare them (principals and consumer_groups move, readers stay), or take their right to read"
    return Check(NAME, outcome, ". ".join([*parts, *([todo.capitalize()] if seen else [])]), facts)


def _look_at(run: Run, cluster: str) -> Undeclared:
    try:
        topics = run.read_cache.topics(cluster)
        groups, unknown = _groups(run, cluster, topics)
        if undecided := not_by_acls(run, (cluster,), "who may read there"):
            return Undeclared((), groups, (*unknown, undecided))
        return Undeclared(_principals(run, cluster, topics), groups, (*unknown, *_hidden(run, cluster)))
    except KafkaDrError as error:
        return Undeclared(unknown=(f"who reads on {cluster} could not be asked: {error}",))


def _principals(run: Run, cluster: str, topics: Collection[str]) -> tuple[str, ...]:
    group, authorizer = run.group, authorizer_of(run, cluster, run.read_cache.acls(cluster))
    own = {group.operator_principal, group.probe_principal, group.replicator_principal, group.audit_principal}
    known = {*group.principals, *group.super_users, *group.readers.principals, *own}
    if open_to_all := authorizer.without_acls(topics):
        return (f"everybody may read {', '.join(open_to_all[:3])} on {cluster}, as no ACL names it",)
    found = sorted(authorizer.readers(topics) - known)
    if EVERYONE in found:
        return (f"an ACL on {cluster} lets everybody (User:*) read",)
    return tuple(f"{principal} may read on {cluster}" for principal in found)


def _groups(run: Run, cluster: str, topics: Collection[str]) -> tuple[tuple[Reader, ...], list[str]]:
    """Return the undeclared groups that read, and of which groups that is not known: in a few requests for all."""
    operator = run.operator(cluster)
    listed = [each for each in operator.group_kinds.listed() if _is_foreign(run, each.group)]
    names = [each.group for each in listed if each.kind in ("consumer", "streams")]
    reading = operator.group_reading
    committed = reading.committed(names)
    live = reading.live([each.group for each in listed if each.kind == "consumer"], seconds=_SETTLE_SECONDS)
    for name, shared in reading.shared(each.group for each in listed if each.kind == "share").items():
        committed[name] = {}
        live[name] = shared if isinstance(shared, KafkaDrError) else LiveReading(0, shared)
    unknown = [
        f"{name} on {cluster}: {said}" for name in committed if (said := _untold(committed[name], live.get(name)))
    ]
    found = (_reader(run, cluster, name, topics, committed[name], live.get(name)) for name in committed)
    return tuple(reader for reader in found if reader is not None), unknown


def _is_foreign(run: Run, name: str) -> bool:
    """Return whether a group is neither moved, nor declared to read, nor this project's or replication's own."""
    workers = tuple(cluster.connect_group_id for cluster in run.clients.topology.clusters.values())
    own = name in workers or name.startswith(OWN_GROUP_PREFIXES)
    return not (own or run.group.owns_group(name) or run.group.readers.knows_group(name))


def _untold(committed: Mapping[TopicPartition, int] | KafkaDrError, live: LiveReading | KafkaDrError | None) -> str:
    for answer in (committed, live):
        if isinstance(answer, KafkaDrError):
            return str(answer)
    told = not isinstance(live, LiveReading) or live.complete
    return "" if told else "it is rebalancing, and the broker does not say meanwhile what its members read"


def _reader(
    run: Run,
    cluster: str,
    name: str,
    topics: Collection[str],
    committed: Mapping[TopicPartition, int] | KafkaDrError,
    live: LiveReading | KafkaDrError | None,
) -> Reader | None:
    positions = () if isinstance(committed, KafkaDrError) else tuple(p for p in committed if p.topic in topics)
    reads = live.topics & set(topics) if isinstance(live, LiveReading) else frozenset()
    all_of_them = {*reads, *(p.topic for p in positions)}
    if not all_of_them:
        return None
    declared = run.clients.topology.protection_groups.items()
    owner = next((owner for owner, group in declared if group.owns_group(name)), "")
    return Reader(cluster, name, tuple(sorted(all_of_them)), len(positions), bool(reads), owner)


def _hidden(run: Run, cluster: str) -> tuple[str, ...]:
    authorizer, operator = authorizer_of(run, cluster, run.read_cache.acls(cluster)), run.group.operator_principal
    if authorizer.allows_everywhere(operator, AclOperation.DESCRIBE, ResourceType.GROUP):
        return ()
    return (f"{operator} may not describe every consumer group on {cluster}: give it DESCRIBE on group *",)

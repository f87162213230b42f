"""Which protection groups two clusters suggest. Pure.

Names that have to move together are put into one group: topics that one consumer group reads, or that one writer's
prefix covers; transactional ids and the topics of their writers. A group that is too large is safe, and can be split
by a person; one that is too small would take a consumer group or a transaction apart.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, count, groupby, pairwise, takewhile

from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.fencing.authorizer import EVERYONE, Authorizer
from kafka_dr.quoting import line
from kafka_dr.set_up.answers import INIT_ROLES, InitAnswers
from kafka_dr.set_up.seen import SeenCluster
from kafka_dr.topology.names import (
    INTERNAL_TOPIC_PREFIXES,
    INTERNAL_TOPIC_SUFFIX,
    OWN_GROUP_PREFIXES,
    OWN_TRANSACTIONAL_ID_PREFIXES,
    RENAMED_TOPIC_SUFFIX,
    canary_topic_of,
    is_canary_topic,
    is_internal_topic,
    reaches,
)

_TOPIC, _GROUP, _ID = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID
_OP = AclOperation
_WRITING = (_OP.WRITE, _OP.CREATE, _OP.DELETE, _OP.ALTER, _OP.ALTER_CONFIGS)
#: No topology can hold others: ``${`` is filled in from the environment there.
_USABLE = re.compile(r"(?!.*\$\{)[^\s*](.*[^\s])?")
_USABLE_PRINCIPAL = re.compile(r"(?!.*\$\{)User:[^\s*](.*[^\s])?")
_WORD = re.compile(r"[A-Za-z0-9]+")
_STORED = ("offsets", "configs", "status")
#: By kind, the beginnings of names that no application uses.
_RESERVED: Mapping[ResourceType, tuple[str, ...]] = {
    _TOPIC: INTERNAL_TOPIC_PREFIXES,
    _GROUP: OWN_GROUP_PREFIXES,
    _ID: OWN_TRANSACTIONAL_ID_PREFIXES,
}
#: How many names of a list a sentence shows.
_FEW = 5


@dataclass(frozen=True, slots=True, order=True)
class OwnedName:
    """A name, or everything that begins with it."""

    resource: ResourceType
    name: str
    prefix: bool = False

    def covers(self, other: OwnedName) -> bool:
        """Return whether every name of the other one is among its own."""
        if self.resource is not other.resource:
            return False
        return other.name.startswith(self.name) if self.prefix else self == other


@dataclass(frozen=True, slots=True)
class ProposedGroup:
    """A protection group as the clusters suggest it.

    :param principals: who writes the topics, and who reads them in one of the groups
    :param readers: who may read the topics, and is not known to read in one of the groups
    :param copiers: who may write the topics on the standby alone
    :param questions: what a person has to find out, as sentences
    """

    name: str
    owned: tuple[OwnedName, ...]
    principals: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()
    copiers: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()

    def names(self, resource: ResourceType, *, prefix: bool) -> list[str]:
        """Return the names, or the prefixes, of one kind."""
        return [each.name for each in self.owned if each.resource is resource and each.prefix is prefix]


@dataclass(frozen=True, slots=True)
class ProposedSetUp:
    """The groups, and what belongs to none of them.

    :param left_out: what belongs to no group, and why, as sentences
    """

    groups: tuple[ProposedGroup, ...]
    left_out: tuple[str, ...]


def propose(active: SeenCluster, standby: SeenCluster, answers: InitAnswers) -> ProposedSetUp:
    """Return the groups that the active cluster suggests, with what the standby shows of their topics."""
    ours = {answers.principal(role, active.settings.security_protocol) for role in INIT_ROLES}
    known = frozenset({*ours, *answers.super_users, EVERYONE})
    topics = frozenset(name for name in application_topics(active) if answers.wants(name))
    sets, left_out = _together(active, topics, known, answers)
    groups: list[ProposedGroup] = []
    for owned in sets:
        name = answers.group or _name(owned, chain(*sets), {group.name for group in groups})
        groups.append(_group(name, owned, active, standby, known))
    return ProposedSetUp(tuple(groups), tuple(left_out))


def application_topics(cluster: SeenCluster) -> frozenset[str]:
    """Return the topics of a cluster that neither Kafka nor replication nor a worker has made for itself."""
    own = {f"{worker}-{each}" for worker in workers(cluster) for each in _STORED}
    copies = tuple(f"{alias}." for alias in copied_from(cluster))

    def belongs(name: str) -> bool:
        internal = is_internal_topic(name) or name.startswith(("_", *copies)) or name.endswith(RENAMED_TOPIC_SUFFIX)
        return not internal and name not in own and not is_canary_topic(name)

    return frozenset(filter(belongs, cluster.topics))


def workers(cluster: SeenCluster) -> tuple[str, ...]:
    """Return the groups of workers that run connectors on a cluster."""
    return tuple(each.group for each in cluster.groups if "connect" in each.said.split())


def copied_from(cluster: SeenCluster) -> tuple[str, ...]:
    """Return the aliases that MirrorMaker on this cluster has for the clusters that it copies from."""
    return tuple(
        sorted(t.removesuffix(INTERNAL_TOPIC_SUFFIX) for t in cluster.topics if t.endswith(INTERNAL_TOPIC_SUFFIX))
    )


def traces_of_replication(cluster: SeenCluster) -> tuple[str, ...]:
    """Return the topics that MirrorMaker has made on a cluster."""
    return tuple(sorted(t for t in cluster.topics if t.startswith("mm2") or t.endswith(INTERNAL_TOPIC_SUFFIX)))


class _Sets:
    """Which names belong together."""

    def __init__(self) -> None:
        self._parent: dict[OwnedName, OwnedName] = {}

    def of(self, name: OwnedName) -> OwnedName:
        """Return the one that represents the set of a name, which begins as a set of its own."""
        while (parent := self._parent.setdefault(name, name)) != name:
            name = parent
        return name

    def join(self, names: Iterable[OwnedName]) -> None:
        """Put names into one set."""
        for one, other in pairwise(names):
            self._parent[self.of(other)] = self.of(one)

    def all(self) -> list[list[OwnedName]]:
        """Return the sets, each sorted."""
        found: dict[OwnedName, list[OwnedName]] = {}
        for name in sorted(self._parent):
            found.setdefault(self.of(name), []).append(name)
        return list(found.values())


def _together(
    cluster: SeenCluster, topics: frozenset[str], known: Collection[str], answers: InitAnswers
) -> tuple[list[tuple[OwnedName, ...]], list[str]]:
    sets = _Sets()
    literal = {name: OwnedName(_TOPIC, name) for name in topics}
    allowed = _allowed(cluster.acls, known)
    written = {name for acl, name in allowed if acl.resource is _TOPIC and acl.operation in (*_WRITING, _OP.ALL)}
    prefixes = {each for each in written if each.prefix and any(each.covers(topic) for topic in literal.values())}
    for each in (*literal.values(), *prefixes):
        sets.of(each)
    elsewhere: dict[str, frozenset[str]] = {}
    for group, read in cluster.read_by.items():
        if read & topics and not reaches(group, _RESERVED[_GROUP], prefix=False):
            sets.join([OwnedName(_GROUP, group), *(literal[each] for each in sorted(read & topics))])
            elsewhere |= {group: read - topics} if read - topics else {}
    for acl, name in allowed:
        if acl.resource in (_GROUP, _ID):
            used = _used_by(acl, allowed, [*literal.values(), *prefixes])
            covered = sorted(each for each in _members(sets, _GROUP) if name.covers(each))
            if acl.resource is _ID or covered or len({sets.of(each) for each in used}) == 1:
                sets.join([name, *covered, *([] if covered else used)])
            else:
                sets.of(name)
    _join_overlapping(sets)
    whole = [tuple(each) for each in sets.all()]
    found = [each for each in whole if any(name.resource is _TOPIC for name in each)]
    left_out = list(_without_topics([name for each in whole if each not in found for name in each]))
    left_out += [_reads_elsewhere(group, sorted(read)) for group, read in sorted(elsewhere.items())]
    left_out += [
        f"share group {line(each.group)} cannot be moved: see not_moved in topology.example.yaml"
        for each in cluster.groups
        if each.kind == "share"
    ]
    if answers.group and found:
        found = [tuple(sorted(name for each in found for name in each))]
    return found, left_out


def _allowed(acls: Iterable[Acl], known: Collection[str]) -> list[tuple[Acl, OwnedName]]:
    """Return what applications are allowed by name or prefix."""
    found = []
    for acl in sorted(acls):
        reserved = _RESERVED.get(acl.resource)
        prefix = acl.pattern is PatternType.PREFIXED
        if acl.permission is not AclPermission.ALLOW or acl.principal in known or reserved is None:
            continue
        if _USABLE.fullmatch(acl.name) and not reaches(acl.name, reserved, prefix=prefix):
            found.append((acl, OwnedName(acl.resource, acl.name, prefix)))
    return found


def _used_by(acl: Acl, allowed: list[tuple[Acl, OwnedName]], topics: list[OwnedName]) -> list[OwnedName]:
    """Return the topics that the principal of an ACL for a group or a transactional id may read, or write."""
    wanted = (_OP.READ, _OP.ALL) if acl.resource is _GROUP else (_OP.WRITE, _OP.ALL)
    names = [
        name
        for each, name in allowed
        if each.principal == acl.principal and each.resource is _TOPIC and each.operation in wanted
    ]
    return [topic for topic in topics if any(name.covers(topic) for name in names)]


def _members(sets: _Sets, resource: ResourceType) -> list[OwnedName]:
    return [name for each in sets.all() for name in each if name.resource is resource]


def _join_overlapping(sets: _Sets) -> None:
    """Join what two prefixes, or a prefix and a name, both cover: nothing may be in two groups."""
    around: list[OwnedName] = []
    names = [name for each in sets.all() for name in each]
    for name in sorted(names, key=lambda each: (each.resource, each.name, not each.prefix)):
        while around and not around[-1].covers(name):
            around.pop()
        if around:
            sets.join([around[-1], name])
        if name.prefix:
            around.append(name)


def _without_topics(names: Iterable[OwnedName]) -> Iterator[str]:
    for kind, found in groupby(sorted(names), key=lambda each: each.resource):
        shown = _few([f"{each.name}{'*' if each.prefix else ''}" for each in found])
        words = "consumer groups" if kind is _GROUP else f"{kind.replace('_', ' ')}s"
        yield f"{words} {shown} are in no protection group, because no topics of theirs are known: add them to one"


def _reads_elsewhere(group: str, topics: list[str]) -> str:
    return (
        f"consumer group {line(group)} also reads {_few(topics)}, outside the groups below: add these topics, or "
        "decide groups_policy.other_topics"
    )


def _few(names: Collection[str]) -> str:
    shown = ", ".join(line(each) for each in sorted(names)[:_FEW])
    return f"{shown} and {len(names) - _FEW} more" if len(names) > _FEW else shown


def _name(owned: Collection[OwnedName], others: Iterable[OwnedName], taken: Collection[str]) -> str:
    """Return a name for a group: what its topics begin with; the canary of that name is in no other group.

    :param others: names of other groups
    """
    topics = [each.name for each in owned if each.resource is _TOPIC]
    same = takewhile(lambda pair: pair[0] == pair[1], zip(min(topics), max(topics), strict=False))
    begin = "".join(one for one, _ in same)
    words = next(filter(None, map(_WORD.findall, (begin, topics[0]))), ["group"])
    bare = "-".join(words)[:60]
    prefixes = [each for each in others if each.prefix and each not in owned]
    numbered = ((f"{bare}-{number}", f"set-{number}-{bare}") for number in count(2))

    def free(name: str) -> bool:
        canary = OwnedName(_TOPIC, canary_topic_of(name))
        return name not in taken and not any(each.covers(canary) for each in prefixes)

    return next(filter(free, chain([bare], chain.from_iterable(numbered))))


def _group(
    name: str, owned: tuple[OwnedName, ...], active: SeenCluster, standby: SeenCluster, known: frozenset[str]
) -> ProposedGroup:
    kept = tuple(each for each in owned if not any(other != each and other.covers(each) for other in owned))
    usable = tuple(each for each in kept if _USABLE.fullmatch(each.name))
    questions = [
        f"{line(each.name)} is a name that no topology can hold: leave it out" for each in set(kept) - set(usable)
    ]
    found = ProposedGroup(name, usable)
    here = _Access.of(active, owned)
    principals = (here.writers | here.consumers) - known
    copiers = _Access.of(standby, owned).writers - here.writers - known
    if EVERYONE in here.writers | here.readers:
        questions.append(
            "everybody (User:*) may read or write these topics: replace that ALLOW by one for each application, "
            "because a fence denies only principals that it knows"
        )
    if strange := sorted(each for each in principals if not _USABLE_PRINCIPAL.fullmatch(each)):
        questions.append(f"{_few(strange)} cannot be fenced by name: give what uses it a principal of the kind User:")
    return replace(
        found,
        principals=tuple(sorted(principals - set(strange))),
        readers=tuple(sorted(each for each in here.readers - principals - known if _USABLE_PRINCIPAL.fullmatch(each))),
        copiers=tuple(sorted(each for each in copiers if _USABLE_PRINCIPAL.fullmatch(each))),
        questions=tuple(questions),
    )


@dataclass(frozen=True, slots=True)
class _Access:
    """Who may do what with the names of a group on one cluster, whatever ACL says so."""

    writers: frozenset[str]
    readers: frozenset[str]
    consumers: frozenset[str]

    @classmethod
    def of(cls, cluster: SeenCluster, owned: Iterable[OwnedName]) -> _Access:
        authorizer = Authorizer(cluster.acls)
        topics = [_example(each) for each in owned if each.resource is _TOPIC]
        groups = [_example(each) for each in owned if each.resource is _GROUP]
        writers = frozenset[str]().union(*(authorizer.able(each, _TOPIC, topics) for each in _WRITING))
        readers = authorizer.readers(topics)
        in_groups = authorizer.able(_OP.READ, _GROUP, groups)
        return cls(writers | authorizer.able(_OP.DELETE, _GROUP, groups), readers, readers & in_groups)


def _example(owned: OwnedName) -> str:
    """Return a name of this kind: of a prefix, one that no other ACL names."""
    return f"{owned.name}~" if owned.prefix else owned.name

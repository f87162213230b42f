"""Which topics a group's patterns match, as facts of a run; whether another group owns one; who may create more.

A prefix denies a topic that does not exist yet. A pattern cannot: a new topic is fenced when it is first looked up, by
health each minute or by a step of a run. So who may create topics that a pattern could match is named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from kafka_dr import parallel
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.fencing.authorizer import EVERYONE
from kafka_dr.outcomes import Check
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.known_topics import Contested, contested
from kafka_dr.runs.read_cache import ReadCache
from kafka_dr.runs.record import first_few
from kafka_dr.runs.topics_of_patterns import first_seen, others_of, seen_on
from kafka_dr.topology.model import ProtectionGroup
from kafka_dr.topology.patterns import fixed_beginning, matched

NAME = "topics_of_patterns"
_ANY = "*"
_MOST_NAMED = 5


def topics_of_patterns(
    context: GroupContext, clusters: Collection[str], *, seen: ReadCache | None = None, dated: bool = False
) -> tuple[Check, ...]:
    """Return whether each topic that the patterns match is this group's alone; nothing if there is no pattern.

    :param clusters: each has to answer
    :param seen: ACLs that the checks of a step read once; ``None``: who may create topics is not asked
    :param dated: also say since when health has known each topic, which reads what is kept of it
    """
    group = context.declared
    if not group.topic_patterns:
        return ()
    found = parallel.ask_all(lambda name: seen_on(group, context.clients, name), clusters)
    existing = sorted(frozenset().union(*(each.existing for each in found.values())))
    since = first_seen(group.name, context.clients) if dated else {}
    creators = [who for name in clusters for who in _creators(group, name, seen)] if seen else []
    disputed = contested(existing, others_of(group, context.clients))
    return (judged(group, existing, disputed, creators, since=since),)


def judged(
    group: ProtectionGroup,
    existing: Sequence[str],
    disputed: Sequence[Contested],
    creators: Sequence[str],
    *,
    since: Mapping[str, str] | None = None,
) -> Check:
    """Return what follows from what was found. Pure.

    :param existing: the topics that the patterns match and that exist
    :param creators: who may create more of them, a sentence each
    :param since: when each was seen first, as far as that is known
    """
    facts = {"matched_topics": rows(group, existing, since or {}), "creators": list(creators)}
    many = len(group.topic_patterns)
    counted = f"{many} pattern{'s' if many > 1 else ''} of {group.name} match{'' if many > 1 else 'es'} "
    counted += f"{len(existing)} topic{'' if len(existing) == 1 else 's'}"
    if disputed:
        named = "; ".join(first_few([*map(str, disputed)], _MOST_NAMED))
        said = f"{counted}, and they match {named}. Such a topic is neither fenced nor copied for {group.name}"
        return Check(NAME, "failed", f"{said}: narrow the pattern, or the other group's names", facts)
    if creators:
        named = "; ".join(first_few(creators, _MOST_NAMED))
        said = f"{counted}. {named}. Until the next look of dr_health no fence covers such a topic: take the right away"
        return Check(NAME, "excused", f"{said}, or declare a prefix instead of the pattern", facts)
    return Check(NAME, "ok", counted, facts)


def rows(group: ProtectionGroup, topics: Iterable[str], since: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the topics with the pattern that matches each, as rows. Pure."""
    return [
        {
            "topic": topic,
            "pattern": next(each for each in group.topic_patterns if matched(topic, [each])),
            **({"since": since[topic]} if topic in since else {}),
        }
        for topic in topics
    ]


def in_words(found: Check) -> list[str]:
    """Return a sentence for each pattern, from the facts of the check. Pure."""
    by_pattern: dict[str, list[str]] = {}
    for row in found.facts.get("matched_topics", ()):
        since = f" (since {row['since']})" if row.get("since") else ""
        by_pattern.setdefault(row["pattern"], []).append(f"{row['topic']}{since}")
    return [f"{pattern} matches {', '.join(first_few(names, _MOST_NAMED))}" for pattern, names in by_pattern.items()]


def _creators(group: ProtectionGroup, cluster: str, seen: ReadCache) -> list[str]:
    found = creators(group, seen.acls(cluster))
    return [f"{who} may create more on {cluster} ({how})" for who, how in found]


def creators(group: ProtectionGroup, acls: Collection[Acl]) -> list[tuple[str, str]]:
    """Return which applications may create a topic that a pattern could match, and by which right. Pure.

    :param acls: every ACL of a cluster
    """
    begins = tuple(map(fixed_beginning, group.topic_patterns))
    who = {*group.principals, EVERYONE}
    found: dict[str, str] = {}
    for acl in sorted(acls):
        if acl.permission is not AclPermission.ALLOW or acl.principal not in who:
            continue
        if acl.operation in (AclOperation.CREATE, AclOperation.ALL) and (how := _reach(acl, begins)):
            found.setdefault(acl.principal, how)
    return sorted(found.items())


def _reach(acl: Acl, begins: Collection[str]) -> str:
    """Return which names that do not exist yet an ACL is about, if a pattern could match one; empty if none."""
    if acl.resource is ResourceType.CLUSTER:
        return "CREATE on the cluster"
    if acl.resource is not ResourceType.TOPIC:
        return ""
    if acl.name == _ANY:
        return "CREATE on every topic"
    if acl.pattern is not PatternType.PREFIXED:
        return ""
    reaches = any(begin.startswith(acl.name) or acl.name.startswith(begin) for begin in begins)
    return f"CREATE on topics {acl.name}*" if reaches else ""

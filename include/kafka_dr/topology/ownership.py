"""No topic, consumer group or transactional id belongs to two protection groups: every overlap is found.

A principal may: a fence denies it only what belongs to its protection group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from kafka_dr.topology.blocks_rules import block_of
from kafka_dr.topology.document import Document, Path
from kafka_dr.topology.mistakes import Mistake
from kafka_dr.topology.names import (
    INTERNAL_TOPIC_PREFIXES,
    INTERNAL_TOPIC_SUFFIX,
    OWN_GROUP_PREFIXES,
    OWN_TRANSACTIONAL_ID_PREFIXES,
    RENAMED_TOPIC_SUFFIX,
    canary_topic_of,
    covers,
    reaches,
)
from kafka_dr.topology.patterns import matched, problem


@dataclass(frozen=True, slots=True)
class Claim:
    """A protection group says that a name, or everything that begins with it, is its own."""

    group: str
    name: str
    path: Path
    prefix: bool = False
    implied: bool = False

    def __str__(self) -> str:
        if self.implied:
            return f"the canary topic {self.name!r}"
        return f"the prefix {self.name!r}" if self.prefix else repr(self.name)


@dataclass(frozen=True, slots=True)
class OwnedKind:
    """A kind of thing that a group can own, and the keys that name it."""

    word: str
    literal_key: str
    prefix_key: str | None = None


TOPICS = OwnedKind("topic", "topics", "topic_prefixes")
GROUPS = OwnedKind("consumer group", "consumer_groups", "consumer_group_prefixes")
TRANSACTIONAL_IDS = OwnedKind("transactional id", "transactional_ids", "transactional_id_prefixes")
PRINCIPALS = OwnedKind("principal", "principals")


def ownership_mistakes(document: Document) -> Iterator[Mistake]:
    """Yield every name that two groups claim, that is listed twice, or that nobody may claim."""
    reserved = _reserved(document)
    yield from _listed_twice(document, _claims(document, PRINCIPALS))
    for kind in (TOPICS, GROUPS, TRANSACTIONAL_IDS):
        claims = _claims(document, kind)
        yield from _listed_twice(document, claims)
        yield from _overlaps(document, kind, [*claims, *_canaries(document, kind)])
        yield from reserved.get(kind, _nothing)(claims)
    yield from _uncovered_canaries(document)
    yield from _without_topics(document)


def _claims(document: Document, kind: OwnedKind) -> list[Claim]:
    found = []
    for group in document.keys("protection_groups"):
        here = ("protection_groups", group)
        found += [Claim(group, name, path) for name, path in document.texts(*here, kind.literal_key)]
        if kind.prefix_key:
            prefixes = document.texts(*here, kind.prefix_key)
            found += [Claim(group, name, path, prefix=True) for name, path in prefixes]
    return found


def _canaries(document: Document, kind: OwnedKind) -> list[Claim]:
    """Return what each group claims without naming it; where a group does name its canary, that claim speaks."""
    groups = _groups_without_canary(document) if kind is TOPICS else ()
    return [Claim(group, canary_topic_of(group), ("protection_groups", group), implied=True) for group in groups]


def _groups_without_canary(document: Document) -> Iterator[str]:
    for group in document.keys("protection_groups"):
        here = ("protection_groups", group)
        topics = [name for name, _ in document.texts(*here, "topics")]
        prefixes = [name for name, _ in document.texts(*here, "topic_prefixes")]
        patterns = [text for text, _ in document.texts(*here, "topic_patterns") if not problem(text)]
        canary = canary_topic_of(group)
        covered = covers(canary, literals=topics, prefixes=prefixes) or matched(canary, patterns)
        if (topics or prefixes or patterns) and not covered:
            yield group


def _listed_twice(document: Document, claims: Iterable[Claim]) -> Iterator[Mistake]:
    first: dict[tuple[str, str, bool], Claim] = {}
    for claim in claims:
        earlier = first.setdefault((claim.group, claim.name, claim.prefix), claim)
        if earlier is not claim:
            seen = f"{claim.name!r} is already given in line {document.line(earlier.path)}"
            yield document.mistake(claim.path, seen, "keep one of the two")


def _overlaps(document: Document, kind: OwnedKind, claims: Iterable[Claim]) -> Iterator[Mistake]:
    """Walk the names in their order: what a prefix covers comes right after it."""
    around: list[Claim] = []
    for claim in sorted(claims, key=lambda each: (each.name, not each.prefix)):
        while around and not _meets(around[-1], claim):
            around.pop()
        for other in around:
            if _owner(document, other) != _owner(document, claim) and _meets(other, claim):
                yield _overlap(document, kind, *sorted((other, claim), key=lambda each: document.line(each.path)))
        around.append(claim)


def _owner(document: Document, claim: Claim) -> str:
    """Return who claims it: the groups of a block share what is theirs."""
    return block_of(document, claim.group) or claim.group


def _meets(earlier: Claim, later: Claim) -> bool:
    return later.name.startswith(earlier.name) if earlier.prefix else later.name == earlier.name


def _overlap(document: Document, kind: OwnedKind, first: Claim, second: Claim) -> Mistake:
    claim, other = (first, second) if second.implied else (second, first)
    seen = f"{claim} and {other} of group {other.group!r} (line {document.line(other.path)}) name the same {kind.word}s"
    if not claim.prefix and not other.prefix:
        seen = f"{claim} belongs to group {other.group!r} already (line {document.line(other.path)})"
    return document.mistake(claim.path, seen, f"give each {kind.word} to one group only")


def _nothing(claims: Iterable[Claim]) -> Iterator[Mistake]:
    return iter(())


def _reserved(document: Document) -> dict[OwnedKind, Callable[[Iterable[Claim]], Iterator[Mistake]]]:
    """Return, for each kind, what finds claims on names that are not the applications'."""
    workers = []
    for cluster in document.keys("clusters"):
        worker = document.at("clusters", cluster, "connect_group_id")
        workers += [worker] if isinstance(worker, str) and worker else []

    def within(prefixes: Iterable[str], owner: str) -> Callable[[Iterable[Claim]], Iterator[Mistake]]:
        def find(claims: Iterable[Claim]) -> Iterator[Mistake]:
            for claim in claims:
                if other := reaches(claim.name, prefixes, prefix=claim.prefix):
                    seen = f"{claim} reaches names that begin with {other!r}, which {owner}"
                    yield document.mistake(claim.path, seen, "name only what applications use")

        return find

    internal = within(INTERNAL_TOPIC_PREFIXES, "belong to Kafka, to replication or to this tool")
    own = "belong to replication or to this tool"

    def topics(claims: Iterable[Claim]) -> Iterator[Mistake]:
        yield from internal(claims)
        yield from _unusable_endings(document, claims)

    return {
        TOPICS: topics,
        GROUPS: within((*OWN_GROUP_PREFIXES, *workers), own),
        TRANSACTIONAL_IDS: within((*OWN_TRANSACTIONAL_ID_PREFIXES, *workers), own),
    }


def _unusable_endings(document: Document, claims: Iterable[Claim]) -> Iterator[Mistake]:
    for claim in claims:
        if claim.prefix:
            continue
        if claim.name.endswith(INTERNAL_TOPIC_SUFFIX):
            seen = f"{claim} ends as replication's own topics do"
            yield document.mistake(claim.path, seen, "name only topics that applications use")
        elif claim.name.endswith(RENAMED_TOPIC_SUFFIX):
            seen = f"{claim} ends with 'heartbeats', which replication renames, so it would never have a copy"
            yield document.mistake(claim.path, seen, "rename the topic or leave it out")


def _uncovered_canaries(document: Document) -> Iterator[Mistake]:
    for group in _groups_without_canary(document):
        topic = canary_topic_of(group)
        seen = f"the group's canary topic '{topic}' is not among its topics, so it would not be replicated"
        yield document.mistake(("protection_groups", group, "topics"), seen, f"add {topic} to topics")


def _without_topics(document: Document) -> Iterator[Mistake]:
    for group in document.keys("protection_groups"):
        here = ("protection_groups", group)
        if not any(document.at(*here, key) for key in ("topics", "topic_prefixes", "topic_patterns")):
            seen = "the group has neither topics nor topic_prefixes nor topic_patterns, so there is nothing to protect"
            yield document.mistake(here, seen, "add topics, or one of the others")

"""What must hold for topic patterns, as far as the file alone can show it. The rest is found on the clusters.

Two patterns, or a pattern and a prefix, may match the same name or never do: that depends on the topics that exist. So
only what is certain is a mistake here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kafka_dr.topology.document import Document, Path
from kafka_dr.topology.mistakes import Mistake
from kafka_dr.topology.names import INTERNAL_TOPIC_PREFIXES, canary_topic_of, reaches
from kafka_dr.topology.patterns import fixed_beginning, is_name, is_prefix, matched, problem


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A pattern that can be used, and who declares it."""

    owner: Path
    text: str
    path: Path


def pattern_mistakes(document: Document) -> Iterator[Mistake]:
    """Yield every pattern that cannot be used, that says too little or too much, or that another group contradicts."""
    groups = [("protection_groups", name) for name in document.keys("protection_groups")]
    flows = [("observed_flows", name) for name in document.keys("observed_flows")]
    usable: list[_Pattern] = []
    for owner in (*groups, *flows):
        for text, path in document.texts(*owner, "topic_patterns"):
            mistake = _alone(document, text, path)
            if mistake is None:
                usable.append(_Pattern(owner, text, path))
            else:
                yield mistake
    own = [each for each in usable if each.owner in groups]
    yield from _listed_twice(document, usable)
    yield from _of_two_groups(document, own)
    for each in own:
        yield from _reserved(document, each)
        yield from _contradicted(document, each, groups)


def _alone(document: Document, text: str, path: Path) -> Mistake | None:
    """Return what is wrong with a pattern whatever else is declared; ``None`` if nothing is."""
    if said := problem(text):
        return document.mistake(path, f"{text!r} cannot be used: {said}", "correct the pattern")
    if is_name(text):
        plain = text.replace("\\", "")
        return document.mistake(path, f"{text!r} is the name of one topic", f"write {plain!r} into topics")
    if is_prefix(text):
        begin = text[:-2].replace("\\", "")
        if not begin:
            return document.mistake(
                path, f"{text!r} matches every topic of the clusters", "name what they have in common"
            )
        wanted = (
            f"write {begin!r} into topic_prefixes, which ACLs know, so that a later topic is fenced before it exists"
        )
        return document.mistake(path, f"{text!r} is a beginning and then anything", wanted)
    return None


def _listed_twice(document: Document, patterns: list[_Pattern]) -> Iterator[Mistake]:
    first: dict[tuple[Path, str], _Pattern] = {}
    for each in patterns:
        earlier = first.setdefault((each.owner, each.text), each)
        if earlier is not each:
            seen = f"{each.text!r} is already given in line {document.line(earlier.path)}"
            yield document.mistake(each.path, seen, "keep one of the two")


def _of_two_groups(document: Document, patterns: list[_Pattern]) -> Iterator[Mistake]:
    first: dict[str, _Pattern] = {}
    for each in patterns:
        earlier = first.setdefault(each.text, each)
        if earlier.owner != each.owner:
            seen = f"{each.text!r} belongs to group {earlier.owner[1]!r} already (line {document.line(earlier.path)})"
            yield document.mistake(each.path, seen, "give each topic to one group only")


def _reserved(document: Document, pattern: _Pattern) -> Iterator[Mistake]:
    begin = fixed_beginning(pattern.text)
    if begin and (other := reaches(begin, INTERNAL_TOPIC_PREFIXES, prefix=False)):
        whose = "belong to Kafka, to replication or to this tool"
        seen = f"{pattern.text!r} reaches names that begin with {other!r}, which {whose}"
        yield document.mistake(pattern.path, seen, "name only what applications use")


def _contradicted(document: Document, pattern: _Pattern, groups: list[tuple[str, str]]) -> Iterator[Mistake]:
    """Yield what another group, or the same one, says of all or some of the topics that a pattern matches."""
    begin = fixed_beginning(pattern.text)
    for group in groups:
        for prefix, path in document.texts(*group, "topic_prefixes"):
            if not (begin and begin.startswith(prefix)):
                continue
            if group == pattern.owner:
                seen = f"the prefix {prefix!r} (line {document.line(path)}) covers all that {pattern.text!r} matches"
                yield document.mistake(pattern.path, seen, "leave the pattern out")
            else:
                yield _taken(document, pattern, f"the prefix {prefix!r}", group, path)
        if group == pattern.owner:
            continue
        for name, path in document.texts(*group, "topics"):
            if matched(name, [pattern.text]):
                yield _taken(document, pattern, repr(name), group, path)
        canary = canary_topic_of(str(group[1]))
        if matched(canary, [pattern.text]):
            yield _taken(document, pattern, f"the canary topic {canary!r}", group, group)


def _taken(document: Document, pattern: _Pattern, what: str, group: Path, path: Path) -> Mistake:
    seen = f"{pattern.text!r} and {what} of group {group[1]!r} (line {document.line(path)}) name the same topics"
    return document.mistake(pattern.path, seen, "give each topic to one group only")

"""What must hold where copies have other names than their originals: nobody may take one for the other.

``orders.east`` begins with ``orders``. Lifting the fence of that prefix would open a copy of this name, and a flow that
copies the prefix would copy it back.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafka_dr.topology.document import Document, Path
from kafka_dr.topology.mistakes import Mistake
from kafka_dr.topology.names import canary_topic_of, covers
from kafka_dr.topology.patterns import matched, problem

_GROUPS = "protection_groups"
_LATE = ("late_held", "late_to_stranded_topic")
#: What is declared only of copies with other names, what means that it is not, and why.
_OF_OTHER_NAMES = (
    ("separator", ".", ""),
    *((key, [], ", so nothing arrives late") for key in _LATE),
    ("order", "none", ", so each topic is one log"),
)
#: A name for what may follow a prefix, by which a pattern is tried.
_ANY = "x"


def naming_mistakes(document: Document, here: Path) -> Iterator[Mistake]:
    """Yield what contradicts the names that the copies of the protection group at this path have."""
    if document.at(*here, "flow", "naming") != "default":
        for key, without, so in _OF_OTHER_NAMES:
            if document.at(*here, "flow", key) not in (None, without):
                seen = f"{key} is given, and copies have the names of their originals{so}"
                yield document.mistake((*here, "flow", key), seen, "leave it out, or set naming to default")
        return
    yield from _not_yet(document, here)
    yield from _of_late_records(document, here)
    separator = document.at(*here, "flow", "separator")
    marks = [f"{cluster}{separator or '.'}" for cluster, _ in document.texts(*here, "clusters")]
    for name, path in _local_names(document, here):
        for mark in marks:
            if name.startswith(mark) or (path[-2] == "topic_prefixes" and mark.startswith(name)):
                seen = f"{name!r} reads as the name of a copy, because copies of this group begin with {mark!r}"
                yield document.mistake(path, seen, "rename the topic, declare a longer prefix, or set flow.separator")
    copies = [f"{mark}{name}" for mark in marks for name, _ in _local_names(document, here)]
    for group in document.keys(_GROUPS):
        if (_GROUPS, group) != here:
            yield from _taken_by(document, (_GROUPS, group), here, copies)


def _not_yet(document: Document, here: Path) -> Iterator[Mistake]:
    """Yield what this version does only where a copy has the name of its original."""
    if document.at(*here, "fence_operations") == "all":
        seen = "naming is default, and fence_operations is all"
        yield document.mistake((*here, "fence_operations"), seen, "leave it out, or set it to listed")
    if document.texts(*here, "groups_policy", "streams_moved"):
        path = (*here, "groups_policy", "streams_moved")
        seen = "naming is default, and a Kafka Streams application does not find its state under another name"
        yield document.mistake(path, seen, "let its owners reset it, and name it in not_moved")


def _of_late_records(document: Document, here: Path) -> Iterator[Mistake]:
    """Yield what is declared about late records of topics that the group does not have, or about one topic twice."""
    several = len(document.texts(*here, "clusters")) > 2
    for key in (each for each in _LATE if several and document.texts(*here, "flow", each)):
        said = f"{key} names topics, and the group has several standbys, to which late records are always delivered"
        yield document.mistake((*here, "flow", key), said, "leave it out, or name two clusters")
    names, prefixes, patterns = (
        [text for text, _ in document.texts(*here, key)] for key in ("topics", "topic_prefixes", "topic_patterns")
    )
    usable = [text for text in patterns if not problem(text)]
    seen: set[str] = set()
    for key in _LATE:
        for name, path in document.texts(*here, "flow", key):
            if not covers(name, literals=names, prefixes=prefixes) and not matched(name, usable):
                yield document.mistake(path, f"{name!r} is no topic of this group", "name one of its topics, in full")
            if name in seen:
                yield document.mistake(path, f"{name!r} is named twice", "leave it in one of the two lists, once")
            seen.add(name)


def _local_names(document: Document, here: Path) -> list[tuple[str, Path]]:
    found = [*document.texts(*here, "topics"), *document.texts(*here, "topic_prefixes")]
    return [*found, (canary_topic_of(str(here[-1])), (*here, "canary_topic", 0))]


def _taken_by(document: Document, other: Path, here: Path, copies: list[str]) -> Iterator[Mistake]:
    """Yield what another group declares that covers a copy of this one."""
    topics = dict(document.texts(*other, "topics"))
    prefixes = dict(document.texts(*other, "topic_prefixes"))
    patterns = {text: path for text, path in document.texts(*other, "topic_patterns") if not problem(text)}
    for copy in copies:
        found = [path for name, path in topics.items() if name == copy]
        found += [path for name, path in prefixes.items() if copy.startswith(name) or name.startswith(copy)]
        found += [path for text, path in patterns.items() if matched(copy, [text]) or matched(copy + _ANY, [text])]
        for path in found:
            seen = f"it covers {copy!r}, which is the name of a copy of group {str(here[-1])!r}"
            yield document.mistake(path, seen, "declare what applications write to, and no copy of it")

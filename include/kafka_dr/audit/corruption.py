"""Finds out from payloads what happened to the unmatched records of a gap.

A record of the target is a changed copy of a record of the source if what identifies the record is unchanged: the
value, or the timestamp and the key, or everything but the timestamp. Otherwise the original is lost and the other
record is foreign. If several records qualify, the one with most in common is taken. If a payload cannot be read, only
the timestamp decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import NamedTuple

from kafka_dr.audit.copies import SIZE, fingerprint
from kafka_dr.audit.difference import Difference, OneSidedRules, Suspects, UnmatchedRecord, one_sided, runs, step
from kafka_dr.audit.finding import FindingKind
from kafka_dr.audit.pairing import Traits, displaced, paired

_ORDER = "also its position in the order"


@dataclass(frozen=True, slots=True)
class Payload:
    """Everything that an application sees of a record.

    :param timestamp: milliseconds since the epoch; ``None`` if the target's broker stamps records
    """

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int | None


class Unseen(StrEnum):
    """Why a payload was not read, as the end of a sentence about a cluster."""

    GONE = "no longer has its payload"
    REFUSED = "did not give out its payload"
    TOO_MUCH = "has more records to read again than an audit reads"


class Parts(NamedTuple):
    """The digests of a payload's parts, equal if the parts are equal, and small whatever the size of the payload.

    An empty part has an empty digest; a part that is null is ``None``.

    :param timestamp: milliseconds since the epoch; ``None`` if the target's broker stamps records
    """

    key: bytes | None
    value: bytes | None
    headers: bytes
    timestamp: int | None

    @classmethod
    def of(cls, payload: Payload) -> Parts:
        """Return the parts of a payload."""
        headers = fingerprint(timestamp_ms=0, key=None, value=None, headers=payload.headers)
        return cls(_short(payload.key), _short(payload.value), headers, payload.timestamp)


def _short(content: bytes | None) -> bytes | None:
    return blake2b(content, digest_size=SIZE).digest() if content else content


#: Returns the digests of the payload of a record of the source, or of the target.
PayloadOf = Callable[[UnmatchedRecord], Parts | Unseen]


def judge(
    suspects: Suspects, *, source: PayloadOf, target: PayloadOf, rules: Mapping[int, OneSidedRules]
) -> list[Difference]:
    """SequencePair the records of a gap and say what happened to each."""
    here = [(record, source(record)) for record in suspects.source]
    there = [(record, target(record)) for record in suspects.target]
    traits = [_traits(*each) for each in here], [_traits(*each) for each in there]
    in_order = paired(*traits)
    elsewhere = displaced(*traits, in_order)
    steps = [step(*_change(here[s][1], there[t][1]), source=here[s][0], target=there[t][0]) for s, t in in_order]
    for s, t in elsewhere:
        kind, detail = _change(here[s][1], there[t][1])
        steps.append(step(kind, f"{detail}, {_ORDER}" if detail else _ORDER, source=here[s][0], target=there[t][0]))
    pairs = [*in_order, *elsewhere]
    of_source, of_target = {s for s, _ in pairs}, {t for _, t in pairs}
    lost = [record for s, (record, _) in enumerate(here) if s not in of_source]
    foreign = [record for t, (record, _) in enumerate(there) if t not in of_target]
    return [*runs(steps), *one_sided(lost, foreign, rules)]


class ChangedCopy(NamedTuple):
    """A record that was found again, changed; equal payloads are its fault ``LATE``."""

    source: UnmatchedRecord
    target: UnmatchedRecord
    kind: FindingKind
    detail: str


def changed_copies(suspects: Suspects, *, source: PayloadOf, target: PayloadOf) -> list[ChangedCopy]:
    """Find the copies of records in any order: at most one part may differ, and the rest identifies the record."""
    here = [_traits(record, source(record)) for record in suspects.source]
    there = [_traits(record, target(record)) for record in suspects.target]
    found = []
    for s, t in displaced(here, there, []):
        record, other = suspects.source[s], suspects.target[t]
        equal = here[s] == there[t]
        said = (FindingKind.LATE, "") if equal else _change(source(record), target(other))
        found.append(ChangedCopy(record, other, *said))
    return found


def _traits(record: UnmatchedRecord, parts: Parts | Unseen) -> Traits:
    if isinstance(parts, Unseen):
        return Traits(record.timestamp, seen=False)
    return Traits(parts.timestamp, parts.key, parts.value, parts.headers)


def _change(here: Parts | Unseen, there: Parts | Unseen) -> tuple[FindingKind, str]:
    """Return what changed, and a detail: which cluster's payload was not read, or what else changed."""
    if isinstance(here, Unseen) or isinstance(there, Unseen):
        if here is there is Unseen.GONE:
            return FindingKind.CORRUPT_UNKNOWN, "neither cluster has its payload"
        sides = (("source", here), ("target", there))
        said = [f"the {side} {parts}" for side, parts in sides if isinstance(parts, Unseen)]
        return FindingKind.CORRUPT_UNKNOWN, "; ".join(said)
    parts = (
        (FindingKind.CORRUPT_VALUE, "value", here.value != there.value),
        (FindingKind.CORRUPT_KEY, "key", here.key != there.key),
        (FindingKind.CORRUPT_HEADER, "headers", here.headers != there.headers),
        (FindingKind.CORRUPT_TIMESTAMP, "timestamp", here.timestamp != there.timestamp),
    )
    changed = [(kind, name) for kind, name, differs in parts if differs]
    if not changed:
        return (
            FindingKind.CORRUPT_UNKNOWN,
            "the payloads are equal now: the record was replaced since",
        )
    others = ", ".join(name for _, name in changed[1:])
    return changed[0][0], f"also its {others}" if others else ""

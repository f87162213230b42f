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
    on_source = [(record, source(record)) for record in suspects.source]
    on_target = [(record, target(record)) for record in suspects.target]
    traits = [_traits(*each) for each in on_source], [_traits(*each) for each in on_target]
    in_order = paired(*traits)
    elsewhere = displaced(*traits, in_order)
    steps = [
        step(*_change(on_source[s][1], on_target[t][1]), source=on_source[s][0], target=on_target[t][0])
        for s, t in in_order
    ]
    for s, t in elsewhere:
        kind, detail = _change(on_source[s][1], on_target[t][1])
        steps.append(
            step(kind, f"{detail}, {_ORDER}" if detail else _ORDER, source=on_source[s][0], target=on_target[t][0])
        )
    pairs = [*in_order, *elsewhere]
    of_source, of_target = {s for s, _ in pairs}, {t for _, t in pairs}
    lost = [record for s, (record, _) in enumerate(on_source) if s not in of_source]
    foreign = [record for t, (record, _) in enumerate(on_target) if t not in of_target]
    return [*runs(steps), *one_sided(lost, foreign, rules)]


class ChangedCopy(NamedTuple):
    """A record that was found again, changed; equal payloads are its fault ``LATE``."""

    source: UnmatchedRecord
    target: UnmatchedRecord
    kind: FindingKind
    detail: str


def changed_copies(suspects: Suspects, *, source: PayloadOf, target: PayloadOf) -> list[ChangedCopy]:
    """Find the copies of records in any order: at most one part may differ, and the rest identifies the record."""
    on_source = [_traits(record, source(record)) for record in suspects.source]
    on_target = [_traits(record, target(record)) for record in suspects.target]
    found = []
    for s, t in displaced(on_source, on_target, []):
        record, other = suspects.source[s], suspects.target[t]
        equal = on_source[s] == on_target[t]
        said = (FindingKind.LATE, "") if equal else _change(source(record), target(other))
        found.append(ChangedCopy(record, other, *said))
    return found


def _traits(record: UnmatchedRecord, parts: Parts | Unseen) -> Traits:
    if isinstance(parts, Unseen):
        return Traits(record.timestamp, seen=False)
    return Traits(parts.timestamp, parts.key, parts.value, parts.headers)


def _change(on_source: Parts | Unseen, on_target: Parts | Unseen) -> tuple[FindingKind, str]:
    """Return what changed, and a detail: which cluster's payload was not read, or what else changed."""
    if isinstance(on_source, Unseen) or isinstance(on_target, Unseen):
        if on_source is on_target is Unseen.GONE:
            return FindingKind.CORRUPT_UNKNOWN, "neither cluster has its payload"
        sides = (("source", on_source), ("target", on_target))
        said = [f"the {side} {parts}" for side, parts in sides if isinstance(parts, Unseen)]
        return FindingKind.CORRUPT_UNKNOWN, "; ".join(said)
    parts = (
        (FindingKind.CORRUPT_VALUE, "value", on_source.value != on_target.value),
        (FindingKind.CORRUPT_KEY, "key", on_source.key != on_target.key),
        (FindingKind.CORRUPT_HEADER, "headers", on_source.headers != on_target.headers),
        (FindingKind.CORRUPT_TIMESTAMP, "timestamp", on_source.timestamp != on_target.timestamp),
    )
    changed = [(kind, name) for kind, name, differs in parts if differs]
    if not changed:
        return (
            FindingKind.CORRUPT_UNKNOWN,
            "the payloads are equal now: the record was replaced since",
        )
    others = ", ".join(name for _, name in changed[1:])
    return changed[0][0], f"also its {others}" if others else ""

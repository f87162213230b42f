"""Telling what is different about two records in the place of each other, from their payloads.

Two such records are the same one, changed, when what names a record is left of it: the same value, the same time and
the same key, or everything but the time. Otherwise one was lost and a strange one came. Where a payload cannot be
looked at, time alone has to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import NamedTuple

from kafka_dr.audit.alignment import Block, align
from kafka_dr.audit.difference import Circumstances, Difference, Fault, Loose, Suspects, one_sided, runs, step
from kafka_dr.audit.fingerprint import SIZE, fingerprint

#: The longest in-order pairing costs the product of both lengths; longer stretches are cut where both sides agree.
_MOST_CELLS = 250_000


@dataclass(frozen=True, slots=True)
class Payload:
    """Everything that an application sees of a record.

    :param timestamp: milliseconds since the epoch; ``None`` where the target stamps records itself
    """

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int | None


class Unseen(StrEnum):
    """Why a payload was not looked at, as it is said of a side."""

    GONE = "no longer has its payload"
    REFUSED = "did not give out its payload"
    TOO_MUCH = "has more to be read again than an audit reads"


class Parts(NamedTuple):
    """What stands for the parts of a payload: as much of ten megabytes as of ten bytes, and equal where they are equal.

    An empty part is empty here, and one that is not there is ``None``.

    :param timestamp: milliseconds since the epoch; ``None`` where the target stamps records itself
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


#: Returns what stands for the payload of a record of the source, or of the target.
PayloadOf = Callable[[Loose], Parts | Unseen]


def judge(
    suspects: Suspects, *, source: PayloadOf, target: PayloadOf, circumstances: Mapping[int, Circumstances]
) -> list[Difference]:
    """Pair the records of a gap and say what happened to each."""
    here = [(record, source(record)) for record in suspects.source]
    there = [(record, target(record)) for record in suspects.target]
    pairs = _paired(here, there)
    corrupt = runs(step(*_change(here[s][1], there[t][1]), source=here[s][0], target=there[t][0]) for s, t in pairs)
    of_source, of_target = {s for s, _ in pairs}, {t for _, t in pairs}
    lost = [record for s, (record, _) in enumerate(here) if s not in of_source]
    foreign = [record for t, (record, _) in enumerate(there) if t not in of_target]
    return [*corrupt, *one_sided(lost, foreign, circumstances)]


_Known = Sequence[tuple[Loose, Parts | Unseen]]


def _paired(here: _Known, there: _Known) -> list[tuple[int, int]]:
    """Pair as many records as can be in order."""
    if len(here) == len(there) and all(_same(s, t) for s, t in zip(here, there, strict=True)):
        return [(n, n) for n in range(len(here))]
    if len(here) * len(there) <= _MOST_CELLS:
        return _most_pairs(here, there)
    pairs: list[tuple[int, int]] = []
    for (s, s_end), (t, t_end), length in _agreeing(here, there):
        if (s_end - s) * (t_end - t) <= _MOST_CELLS:
            between = _most_pairs(here[s:s_end], there[t:t_end])
        else:
            rows = enumerate(zip(here[s:s_end], there[t:t_end], strict=False))
            between = [(n, n) for n, both in rows if _same(*both)]
        pairs += [(s + one, t + other) for one, other in between]
        pairs += [(s_end + n, t_end + n) for n in range(length) if _same(here[s_end + n], there[t_end + n])]
    return pairs


def _agreeing(here: _Known, there: _Known) -> Iterator[tuple[tuple[int, int], tuple[int, int], int]]:
    """Cut long stretches where both sides agree, in whatever most of their records do: yield what lies before each such
    place on both sides, and how many records agree from there on.
    """
    candidates = [_in_common(here, there, what) for what in (_time_and_key, _value, _time)]
    blocks = max(candidates, key=lambda found: sum(block.length for block in found))
    s = t = 0
    for block in [*blocks, Block(len(here), len(there), 0)]:
        yield (s, block.source), (t, block.target), block.length
        s, t = block.source + block.length, block.target + block.length


def _in_common(here: _Known, there: _Known, what: Callable[[Loose, Parts | Unseen], object]) -> list[Block]:
    """Align two stretches by something of each record; what has nothing of the kind agrees with nothing."""
    numbers: dict[object, int] = {}
    sides = [
        [
            numbers.setdefault((side, n) if (found := what(*each)) is None else found, len(numbers))
            for n, each in enumerate(known)
        ]
        for side, known in enumerate((here, there))
    ]
    return align(*sides)


def _time_and_key(record: Loose, parts: Parts | Unseen) -> object:
    return None if isinstance(parts, Unseen) else ("time and key", record.timestamp, parts.key)


def _value(_record: Loose, parts: Parts | Unseen) -> object:
    return None if isinstance(parts, Unseen) else parts.value or None


def _time(record: Loose, _parts: Parts | Unseen) -> object:
    return ("time", record.timestamp)


def _most_pairs(here: _Known, there: _Known) -> list[tuple[int, int]]:
    width = len(there) + 1
    best = [0] * (width * (len(here) + 1))
    for s in reversed(range(len(here))):
        for t in reversed(range(len(there))):
            both = best[(s + 1) * width + t + 1] + 1 if _same(here[s], there[t]) else 0
            best[s * width + t] = max(both, best[(s + 1) * width + t], best[s * width + t + 1])
    pairs, s, t = [], 0, 0
    while s < len(here) and t < len(there):
        value = best[s * width + t]
        if _same(here[s], there[t]) and value == best[(s + 1) * width + t + 1] + 1:
            pairs.append((s, t))
            s, t = s + 1, t + 1
        elif value == best[(s + 1) * width + t]:
            s += 1
        else:
            t += 1
    return pairs


def _same(source: tuple[Loose, Parts | Unseen], target: tuple[Loose, Parts | Unseen]) -> bool:
    (record, here), (other, there) = source, target
    if isinstance(here, Unseen) or isinstance(there, Unseen):
        return record.timestamp == other.timestamp
    if here.value and here.value == there.value:
        return True
    same_key, same_time = here.key == there.key, here.timestamp == there.timestamp
    if here.timestamp is None:
        return same_key and here.key is not None
    same_rest = (here.value, here.headers) == (there.value, there.headers)
    return (same_time and (same_key or same_rest)) or bool(here.key and same_key and same_rest)


def _change(here: Parts | Unseen, there: Parts | Unseen) -> tuple[Fault, str]:
    """Return what changed, and a detail: which side's payload was not looked at, or what else changed."""
    if isinstance(here, Unseen) or isinstance(there, Unseen):
        if here is there is Unseen.GONE:
            return Fault.CORRUPT_UNKNOWN, "neither side has its payload"
        sides = (("source", here), ("target", there))
        said = [f"the {side} {parts}" for side, parts in sides if isinstance(parts, Unseen)]
        return Fault.CORRUPT_UNKNOWN, "; ".join(said)
    parts = (
        (Fault.CORRUPT_VALUE, "value", here.value != there.value),
        (Fault.CORRUPT_KEY, "key", here.key != there.key),
        (Fault.CORRUPT_HEADER, "headers", here.headers != there.headers),
        (Fault.CORRUPT_TIMESTAMP, "timestamp", here.timestamp != there.timestamp),
    )
    changed = [(fault, name) for fault, name, differs in parts if differs]
    if not changed:
        return Fault.CORRUPT_UNKNOWN, "the payloads read later are equal: the record was replaced since"
    others = ", ".join(name for _, name in changed[1:])
    return changed[0][0], f"also its {others}" if others else ""

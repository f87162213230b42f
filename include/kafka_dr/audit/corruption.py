"""Telling what is different about two records in the place of each other, from their payloads.

Two such records are the same one, changed, when what names a record is left of it: the same value, or the same time and
the same key. Otherwise one was lost and a strange one came. Where a payload is gone, time alone has to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kafka_dr.audit.difference import Circumstances, Difference, Fault, Loose, Suspects, one_sided, runs, step

#: The longest in-order pairing costs the product of both lengths; longer stretches are paired one by one.
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


#: Returns the payload of a record of the source, or of the target; ``None`` where it is gone.
PayloadOf = Callable[[Loose], Payload | None]


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


_Known = Sequence[tuple[Loose, Payload | None]]


def _paired(here: _Known, there: _Known) -> list[tuple[int, int]]:
    """Pair as many records as can be in order."""
    if len(here) == len(there) and all(_same(s, t) for s, t in zip(here, there, strict=True)):
        return [(n, n) for n in range(len(here))]
    if len(here) * len(there) > _MOST_CELLS:
        return [(n, n) for n, (s, t) in enumerate(zip(here, there, strict=False)) if _same(s, t)]
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


def _same(source: tuple[Loose, Payload | None], target: tuple[Loose, Payload | None]) -> bool:
    (record, here), (other, there) = source, target
    if here is None or there is None:
        return record.timestamp == other.timestamp
    if here.value and here.value == there.value:
        return True
    same_key, same_time = here.key == there.key, here.timestamp == there.timestamp
    if here.timestamp is None:
        return same_key and here.key is not None
    return same_time and (same_key or (here.value, here.headers) == (there.value, there.headers))


def _change(here: Payload | None, there: Payload | None) -> tuple[Fault, str]:
    """Return what changed, and a detail: which side's payload is gone, or what else changed."""
    if here is None or there is None:
        gone = "neither side has" if here is there else f"the {'source' if here is None else 'target'} no longer has"
        return Fault.CORRUPT_UNKNOWN, f"{gone} its payload"
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

from __future__ import annotations

from collections import Counter
from typing import Any

from lab.bench.logs import FAULTS, Shape, _copied, _originals, shapes

_POOL = bytes(1 << 20)


def frozen(record: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(sorted((name, str(value)) for name, value in record.items()))


def test_equal_topics_and_faulty_ones_have_the_same_size() -> None:
    equal = [(s.partitions, s.records, s.size) for s in shapes(100_000) if not s.faults]
    faulty = [(s.partitions, s.records, s.size) for s in shapes(100_000) if s.faults]
    assert equal == faulty
    assert sum(s.faults for s in shapes(100_000)) == FAULTS


def test_a_copy_has_as_many_faults_as_it_says() -> None:
    shape = Shape("t", 6, 20_000, 32, faults=90)
    originals = Counter(frozen(record) for record in _originals(shape, _POOL, 10**13))
    copies = Counter(frozen(record) for record in _copied(shape, _POOL, 10**13))
    # Of ten kinds in turn six leave no copy, and all but two put something there: a replay five records.
    assert len(originals) == 20_000
    assert (originals - copies).total() == 9 * 6
    assert (copies - originals).total() == 9 * (1 + 5 + 1 + 5)

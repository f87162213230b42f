"""While a step runs, Python's collector looks rarely; what was set before holds again after the last of them."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from kafka_dr.rare_collection import garbage_collected_rarely


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """The suite runs without the collector."""
    gc.enable()
    yield
    gc.disable()


def test_old_objects_are_not_looked_at_again_while_a_step_runs() -> None:
    gc.collect()
    with garbage_collected_rarely():
        looks = gc.get_stats()[2]["collections"]
        kept = [[number] for number in range(1_000_000)]
        assert gc.get_stats()[2]["collections"] == looks
    assert len(kept) == 1_000_000


def test_young_cycles_are_still_freed() -> None:
    with garbage_collected_rarely():
        freed = _freed()
        for _ in range(200_000):
            cycle: list[object] = []
            cycle.append(cycle)
        assert _freed() > freed


def test_the_collector_looks_as_before_after_the_last_step_has_ended() -> None:
    before = gc.get_threshold()
    with garbage_collected_rarely():
        with pytest.raises(KeyError), garbage_collected_rarely():
            raise KeyError
        assert gc.get_threshold() != before
    assert gc.get_threshold() == before


def _freed() -> int:
    return sum(generation["collected"] for generation in gc.get_stats())

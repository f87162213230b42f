from __future__ import annotations

import logging
from pathlib import Path

import pytest

from kafka_dr.offsets.translate.anchor_cache import AnchorCache, CachedPairs
from kafka_dr.positions import OffsetPair

IDS = {"orders.payments": ("a", "b"), "orders.invoices": ("c", "d")}


def pairs(*offsets: tuple[int, int]) -> tuple[OffsetPair, ...]:
    return tuple(OffsetPair(*each) for each in offsets)


PAIRS = CachedPairs(IDS, {("orders.payments", 0): pairs((10, 14), (5, 7)), ("orders.invoices", 1): pairs((3, 3))})


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    AnchorCache(tmp_path, "orders").write("east-to-west", PAIRS)
    assert AnchorCache(tmp_path, "orders").read("east-to-west") == PAIRS


def test_the_other_direction_and_other_groups_know_nothing_of_it(tmp_path: Path) -> None:
    AnchorCache(tmp_path, "orders").write("east-to-west", PAIRS)
    assert AnchorCache(tmp_path, "orders").read("west-to-east") == CachedPairs({}, {})
    assert AnchorCache(tmp_path, "billing").read("east-to-west") == CachedPairs({}, {})


def test_writing_again_leaves_one_file(tmp_path: Path) -> None:
    store = AnchorCache(tmp_path, "orders")
    store.write("east-to-west", PAIRS)
    store.write("east-to-west", PAIRS)
    assert [path.name for path in (tmp_path / "offset_pairs" / "orders").iterdir()] == ["east-to-west.json"]


def test_what_was_learned_of_a_topic_with_another_id_is_forgotten() -> None:
    made_again = {**IDS, "orders.payments": ("a", "new")}
    assert PAIRS.of(made_again) == CachedPairs({"orders.invoices": ("c", "d")}, {("orders.invoices", 1): pairs((3, 3))})


def test_the_newest_pairs_are_kept_and_none_twice() -> None:
    learned = CachedPairs(IDS, {("orders.payments", 0): pairs(*((n, n) for n in range(100, 163)), (5, 7))})
    kept = PAIRS.with_more(learned).offsets
    assert kept["orders.payments", 0] == learned.offsets["orders.payments", 0]
    assert kept["orders.invoices", 1] == ((3, 3),)
    kept = PAIRS.with_more(CachedPairs(IDS, {("orders.payments", 0): pairs((20, 30))})).offsets
    assert kept["orders.payments", 0] == ((10, 14), (5, 7), (20, 30))


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema_version": 2}', '{"schema_version": 1}'])
def test_a_file_that_cannot_be_read_is_ignored_and_reported(
    tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = AnchorCache(tmp_path, "orders")
    store.write("east-to-west", PAIRS)
    (tmp_path / "offset_pairs" / "orders" / "east-to-west.json").write_text(content)
    with caplog.at_level(logging.WARNING):
        assert store.read("east-to-west") == CachedPairs({}, {})
    assert "they are searched for again" in caplog.text

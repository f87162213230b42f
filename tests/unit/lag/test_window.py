from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kafka_dr.lag.verdict import MOST, Sample
from kafka_dr.lag.window import KEPT, Series, Window, WindowStore, WindowUnreadable

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
FLOW = Series("", "orders.a", 0)
GROUP = Series("billing", "orders.a", 0)


def sample(minutes: float, position: int = 1) -> Sample:
    return Sample(START + timedelta(minutes=minutes), position, position + 4, 4, 2.5, None)


def store(root: Path) -> WindowStore:
    return WindowStore(root, "orders", source="east", target="west")


def test_looks_pile_up_in_their_order_and_only_so_many() -> None:
    window = Window()
    for number in range(MOST + 3):
        window = window.add({FLOW: sample(number, number)}, {FLOW: "life"})
    assert [each.position for each in window.of(FLOW)] == list(range(3, MOST + 3))


def test_the_series_of_a_partition_that_was_created_again_starts_again() -> None:
    window = Window().add({FLOW: sample(0)}, {FLOW: "one"}).add({FLOW: sample(5)}, {FLOW: "two"})
    assert window.of(FLOW) == (sample(5),)


def test_looks_from_before_a_long_silence_do_not_count() -> None:
    late = KEPT.total_seconds() / 60 + 1
    window = Window().add({FLOW: sample(0)}, {FLOW: "one"}).add({FLOW: sample(late)}, {FLOW: "one"})
    assert window.of(FLOW) == (sample(late),)


def test_a_clock_that_was_set_back_leaves_no_looks_of_the_future() -> None:
    window = Window().add({FLOW: sample(5)}, {FLOW: "one"}).add({FLOW: sample(0)}, {FLOW: "one"})
    assert window.of(FLOW) == (sample(0),)


def test_a_reader_who_is_gone_is_forgotten() -> None:
    both = {FLOW: sample(0), GROUP: sample(0)}
    window = Window().add(both, dict.fromkeys(both, "one")).add({FLOW: sample(5)}, {FLOW: "one"})
    assert window.of(GROUP) == ()
    assert len(window.of(FLOW)) == 2


def test_what_is_written_is_read_back_and_no_other_file_is_left(tmp_path: Path) -> None:
    both = {FLOW: sample(0), GROUP: Sample(START, 7, 7, 0, None, active=False)}
    window = Window().add(both, dict.fromkeys(both, "one"))
    assert store(tmp_path).read() == Window()
    store(tmp_path).write(window)
    store(tmp_path).write(window)
    assert store(tmp_path).read() == window
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["window.json"]


@pytest.mark.parametrize("content", [b"", b"[]", b'{"schema_version": 9}', b'{"schema_version": 1, "series": [[1]]}'])
def test_a_damaged_window_is_not_taken_for_an_empty_one(tmp_path: Path, content: bytes) -> None:
    store(tmp_path).write(Window())
    (path,) = tmp_path.rglob("window.json")
    path.write_bytes(content)
    with pytest.raises(WindowUnreadable, match="is not the window of a lag audit"):
        store(tmp_path).read()

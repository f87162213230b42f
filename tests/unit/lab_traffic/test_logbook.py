"""A log outlives its writer, line by line."""

from __future__ import annotations

from pathlib import Path

from lab.traffic.logbook import Logbook, read, read_tail


def test_events_come_back_in_order_with_their_time(tmp_path: Path) -> None:
    with Logbook(tmp_path / "deep" / "a.jsonl", now=lambda: 12.3456789) as log:
        log.write("start", cluster="east")
        log.write("acknowledged", at=1.0)
    assert list(read(log.path)) == [
        {"event": "start", "at": 12.345679, "cluster": "east"},
        {"event": "acknowledged", "at": 1.0},
    ]


def test_a_line_that_was_cut_off_does_not_swallow_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"event":"start","at":1}\n{"event":"ackn')
    with Logbook(path, now=lambda: 2.0) as log:
        log.write("start")
    assert [event["at"] for event in read(path)] == [1, 2.0]


def test_the_tail_begins_with_a_whole_line(tmp_path: Path) -> None:
    with Logbook(tmp_path / "a.jsonl", now=lambda: 0.0) as log:
        for number in range(100):
            log.write("sent", number=number)
    tail = read_tail(log.path, size=500)
    assert 5 < len(tail) < 20
    assert tail[-1]["number"] == 99


def test_no_log_is_no_events(tmp_path: Path) -> None:
    assert list(read(tmp_path / "none.jsonl")) == []
    assert read_tail(tmp_path / "none.jsonl") == []

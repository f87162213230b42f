"""A log outlives its writer, line by line."""

from __future__ import annotations

from pathlib import Path

from lab.traffic.logbook import Logbook, read, read_back, read_tail


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


def test_reading_back_ends_at_the_last_event_that_is_looked_for(tmp_path: Path) -> None:
    with Logbook(tmp_path / "a.jsonl", now=lambda: 0.0) as log:
        for number in range(100):
            log.write("checkpoint" if number in {10, 40} else "sent", number=number)
    for size in (10, 300, 100_000):
        found = read_back(log.path, until=lambda event: event["event"] == "checkpoint", size=size)
        assert [event["number"] for event in found] == list(range(40, 100))


def test_reading_back_for_what_never_happened_is_the_whole_log(tmp_path: Path) -> None:
    with Logbook(tmp_path / "a.jsonl", now=lambda: 0.0) as log:
        for number in range(100):
            log.write("sent", number=number)
    assert len(read_back(log.path, until=lambda event: event["event"] == "checkpoint", size=10)) == 100


def test_no_log_is_no_events(tmp_path: Path) -> None:
    assert list(read(tmp_path / "none.jsonl")) == []
    assert read_tail(tmp_path / "none.jsonl") == []
    assert read_back(tmp_path / "none.jsonl", until=lambda _: True) == []

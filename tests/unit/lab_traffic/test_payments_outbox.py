"""The outbox of the payments application is its own log."""

from __future__ import annotations

from lab.traffic.logbook import Event
from lab.traffic.payments import Outbox


def test_an_empty_log_is_an_empty_outbox() -> None:
    assert Outbox.restore([]) == Outbox(next=0, unsettled=set())


def test_what_was_sent_and_not_acknowledged_stays() -> None:
    events: list[Event] = [
        {"event": "sent", "sequences": [0, 1, 2]},
        {"event": "acknowledged", "records": [[1, 0, 0, 1.0]]},
    ]
    assert Outbox.restore(events) == Outbox(next=3, unsettled={0, 2})


def test_what_was_refused_stays() -> None:
    events: list[Event] = [{"event": "sent", "sequences": [0]}, {"event": "refused", "sequences": [0]}]
    assert Outbox.restore(events).unsettled == {0}


def test_a_checkpoint_covers_everything_before_it() -> None:
    events: list[Event] = [
        {"event": "acknowledged", "records": [[3, 0, 0, 1.0]]},
        {"event": "checkpoint", "next": 40, "unsettled": [7]},
        {"event": "sent", "sequences": [40]},
        {"event": "acknowledged", "records": [[7, 0, 9, 2.0]]},
    ]
    assert Outbox.restore(events) == Outbox(next=41, unsettled={40})


def test_sending_again_does_not_move_the_next_number_back() -> None:
    events: list[Event] = [{"event": "checkpoint", "next": 10, "unsettled": [2]}, {"event": "sent", "sequences": [2]}]
    assert Outbox.restore(events).next == 10


def test_new_payments_are_numbered_once() -> None:
    outbox = Outbox(next=5)
    assert [*outbox.take(2), *outbox.take(1)] == [5, 6, 7]
    assert outbox.unsettled == {5, 6, 7}

"""The outbox: news once by each notifier, whatever dies, and nothing damaged stops what follows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from kafka_dr.notifications.notification import Notification
from kafka_dr.notifications.outbox import NotificationOutbox
from kafka_dr.storage.deadline_path import with_deadline

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def news(number: int = 0, group: str = "orders") -> Notification:
    return Notification(group, "check_red", NOON + number * HOUR, f"finding {number}", ("seen",), "http://x")


def test_each_notifier_sends_what_it_has_not_sent_the_oldest_first(tmp_path: Path) -> None:
    outbox = NotificationOutbox(with_deadline(tmp_path))
    for number in (2, 0, 1):
        outbox.put(news(number))
    outbox.put(news(0))
    outbox.sent("mail", news(1), NOON + HOUR)
    assert outbox.waiting("mail", NOON + 2 * HOUR) == (news(0), news(2))
    assert outbox.waiting("chat", NOON + 2 * HOUR) == (news(0), news(1), news(2))


def test_what_is_older_than_a_day_is_no_news_and_is_removed_later(tmp_path: Path) -> None:
    outbox = NotificationOutbox(with_deadline(tmp_path))
    outbox.put(news())
    assert outbox.waiting("mail", NOON + 25 * HOUR) == ()
    outbox.prune(NOON + 25 * HOUR)
    assert outbox.waiting("mail", NOON) == (news(),)
    outbox.prune(NOON + 49 * HOUR)
    assert outbox.waiting("mail", NOON) == ()


def test_nothing_was_ever_notified(tmp_path: Path) -> None:
    assert NotificationOutbox(with_deadline(tmp_path)).waiting("mail", NOON) == ()
    NotificationOutbox(with_deadline(tmp_path)).prune(NOON)


def test_a_damaged_file_is_passed_over_and_removed(tmp_path: Path) -> None:
    outbox = NotificationOutbox(with_deadline(tmp_path))
    outbox.put(news())
    waiting = tmp_path / "notifications" / "waiting"
    for name, content in (("a.json", "{"), ("b.json", "[]"), ("c.json", '{"schema_version": 1}'), ("x.txt", "")):
        (waiting / name).write_text(content)
    # A file under another name than its content has was put there by somebody else.
    (waiting / "d.json").write_bytes((waiting / f"{news().id}.json").read_bytes())
    assert outbox.waiting("mail", NOON) == (news(),)
    outbox.prune(NOON)
    assert sorted(path.name for path in waiting.iterdir()) == sorted([f"{news().id}.json", "x.txt"])


def test_a_damaged_note_of_what_was_sent_sends_the_news_of_a_day_again(tmp_path: Path) -> None:
    outbox = NotificationOutbox(with_deadline(tmp_path))
    outbox.put(news())
    outbox.sent("mail", news(), NOON)
    assert outbox.waiting("mail", NOON) == ()
    (tmp_path / "notifications" / "sent" / "mail.json").write_text("{")
    assert outbox.waiting("mail", NOON) == (news(),)
    outbox.sent("mail", news(), NOON)
    assert outbox.waiting("mail", NOON) == ()

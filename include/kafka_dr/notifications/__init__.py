"""What people are notified of: each change once, and from an outbox, so that no run ever waits for a mail server.

``notifications/waiting/<id>.json`` below the evidence root holds what is to be sent,
``notifications/sent/<notifier>.json`` what each notifier has sent, and ``notifications/readiness.json`` which answer
about readiness people were given last.
"""

from __future__ import annotations

from kafka_dr.notifications.changes import changes_between
from kafka_dr.notifications.notification import OCCASIONS, Notification
from kafka_dr.notifications.outbox import NotificationOutbox
from kafka_dr.notifications.readiness_changes import KnownReadiness, ToldReadiness, readiness_changes

__all__ = [
    "OCCASIONS",
    "KnownReadiness",
    "Notification",
    "NotificationOutbox",
    "ToldReadiness",
    "changes_between",
    "readiness_changes",
]

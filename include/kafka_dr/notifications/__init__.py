"""What people are notified of: each change once, and from an outbox, so that no run ever waits for a mail server.

``notifications/waiting/<id>.json`` below the evidence root holds what is to be sent,
``notifications/sent/<notifier>.json`` what each notifier has sent.
"""

from __future__ import annotations

from kafka_dr.notifications.changes import changes_between
from kafka_dr.notifications.notification import OCCASIONS, Notification
from kafka_dr.notifications.outbox import NotificationOutbox

__all__ = ["OCCASIONS", "Notification", "NotificationOutbox", "changes_between"]

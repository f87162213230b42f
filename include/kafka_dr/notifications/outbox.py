"""The outbox: whoever sees a change writes it there, and a DAG of its own sends it, once for each notifier."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from kafka_dr.json_documents import DocumentDamaged, JsonFile
from kafka_dr.notifications.notification import Notification

_SCHEMA = 1
_FOLDER = "notifications"
#: What nobody could send for so long is dropped: it would be no news.
_NEWS = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class NotificationOutbox:
    """Keeps what is to be sent, and what was.

    A process that dies between sending and noting it sends once more: nothing is lost by that.

    :param root: the evidence root, a path object
    """

    root: Any

    def put(self, news: Notification) -> None:
        """Keep a notification; the same one again changes nothing.

        :raises OSError: the storage does not take it
        """
        self._notification(news.id).write(news)

    def waiting(self, notifier: str, now: datetime) -> tuple[Notification, ...]:
        """Return what a notifier has not sent, the oldest first.

        A damaged file is passed over; what is older than a day is no news.

        :raises OSError: the storage does not answer
        """
        sent = self._sent_by(notifier)
        kept = (self._readable(name) for name in self._names() if name not in sent)
        return tuple(sorted((news for news in kept if news and now - news.at <= _NEWS), key=lambda news: news.at))

    def sent(self, notifier: str, news: Notification, now: datetime) -> None:
        """Note that a notifier has sent a notification.

        :raises OSError: the storage does not take it
        """
        noted = {**self._sent_by(notifier), news.id: news.at}
        self._sent(notifier).write({name: at for name, at in noted.items() if now - at <= 2 * _NEWS})

    def prune(self, now: datetime) -> None:
        """Remove what is no news any more, and what is damaged.

        :raises OSError: the storage does not answer
        """
        for name in self._names():
            news = self._readable(name)
            if news is None or now - news.at > 2 * _NEWS:
                self._notification(name).remove()

    def _names(self) -> Iterator[str]:
        try:
            names = sorted(path.name for path in self.root.joinpath(_FOLDER, "waiting").iterdir())
        except FileNotFoundError:
            return
        yield from (name.removesuffix(".json") for name in names if name.endswith(".json"))

    def _readable(self, name: str) -> Notification | None:
        try:
            news = self._notification(name).read()
        except DocumentDamaged:
            return None
        return news if news is not None and news.id == name else None

    def _sent_by(self, notifier: str) -> dict[str, datetime]:
        try:
            return self._sent(notifier).read() or {}
        except DocumentDamaged:
            return {}

    def _notification(self, name: str) -> JsonFile[Notification]:
        return JsonFile.of(Notification, self.root.joinpath(_FOLDER, "waiting", f"{name}.json"), _SCHEMA)

    def _sent(self, notifier: str) -> JsonFile[dict[str, datetime]]:
        path = self.root.joinpath(_FOLDER, "sent", f"{notifier}.json")
        return JsonFile.of(dict[str, datetime], path, _SCHEMA, under="sent")

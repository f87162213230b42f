"""When readiness was lost or regained. It is judged each minute from kept results, so no cluster has to be asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from kafka_dr.json_documents import JsonFile
from kafka_dr.notifications.notification import Notification
from kafka_dr.readiness.judge import GroupReadiness
from kafka_dr.readiness.model import VerbReadiness
from kafka_dr.topology.notifiers import Occasion

_SCHEMA = 1
_MOST_DETAILS = 10
KnownReadiness = Literal["ready", "not_ready", "unknown"]
_SAID: Mapping[KnownReadiness, str] = {"ready": "yes, again", "not_ready": "NO", "unknown": "UNKNOWN"}


def readiness_changes(
    judged: Iterable[GroupReadiness], known_before: Mapping[str, KnownReadiness], now: datetime
) -> tuple[dict[str, KnownReadiness], tuple[Notification, ...]]:
    """Return what is known of each group now, and what people are notified of.

    While a run moves a group, and until the clusters were asked again afterwards, the answer before is kept: the run
    has notifications of its own. A first answer is sent only if it is not good.

    :param known_before: what people were notified of last, by group
    :param now: the time of the judgement, UTC
    """
    known: dict[str, KnownReadiness] = {}
    news = []
    for each in judged:
        before = known_before.get(each.group)
        if each.moving or each.asked_at is None:
            if before is not None:
                known[each.group] = before
            continue
        known[each.group] = _known(each.verbs)
        if known[each.group] != (before or "ready"):
            news.append(_notification(each, known[each.group], now))
    return known, tuple(news)


def _known(verbs: Iterable[VerbReadiness]) -> KnownReadiness:
    answers = {verb.answer for verb in verbs}
    if "not_ready" in answers:
        return "not_ready"
    return "unknown" if "unknown" in answers or not answers else "ready"


def _notification(found: GroupReadiness, known: KnownReadiness, now: datetime) -> Notification:
    details = tuple(
        f"{verb.verb.replace('_', ' ')}: {verb.answer.replace('_', ' ')}: {verb.open[0].name}: {verb.open[0].detail}"
        for verb in found.verbs
        if verb.answer in ("not_ready", "unknown") and verb.open
    )
    happened = f"Could we fail over now? {_SAID[known]}"
    occasion: Occasion = "readiness_regained" if known == "ready" else "readiness_lost"
    return Notification(found.group, occasion, now, happened, details[:_MOST_DETAILS])


@dataclass(frozen=True, slots=True)
class ToldReadiness:
    """Which answer people were given last. Only one task at a time may write it.

    :param root: the evidence root, a path object
    """

    root: Any

    def read(self) -> dict[str, KnownReadiness]:
        """Return the answers by group.

        :raises DocumentDamaged: the file holds something else
        :raises OSError: the storage does not answer
        """
        return self._file.read() or {}

    def write(self, known: Mapping[str, KnownReadiness]) -> None:
        """Replace the answers.

        :raises OSError: the storage does not take it
        """
        self._file.write(dict(known))

    @property
    def _file(self) -> JsonFile[dict[str, KnownReadiness]]:
        path = self.root.joinpath("notifications", "readiness.json")
        return JsonFile.of(dict[str, KnownReadiness], path, _SCHEMA, under="groups")

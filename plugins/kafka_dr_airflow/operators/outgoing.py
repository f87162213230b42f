"""Puts what happened into the outbox. It never holds up or fails the task that saw it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kafka_dr.errors import KafkaDrError
from kafka_dr.quoting import line
from kafka_dr.verb_words import verb_words
from kafka_dr_airflow.links import status_of
from kafka_dr_airflow.topology_file import evidence_root, read_topology

if TYPE_CHECKING:
    from kafka_dr.notifications.notification import Notification


def keep_news(logger: Any, notifications: Iterable[Notification]) -> None:
    """Keep notifications for the notifiers that the topology declares. If that fails, only the log says so.

    :param logger: of the task
    """
    from kafka_dr.evidence.store import EvidenceStore
    from kafka_dr.notifications.outbox import NotificationOutbox

    try:
        topology = read_topology(os.environ)
        news = [each for each in notifications if _is_wanted(topology, each)]
        if not news:
            return
        root = evidence_root(topology.evidence)
        for each in news:
            EvidenceStore(root).checked(each.to_json())
            NotificationOutbox(root).put(each)
    except (KafkaDrError, OSError) as error:
        logger.warning("Nobody is notified of this change, because it could not be kept: %s", line(error))


def notify_refused(logger: Any, dag_id: str, group: str, said: str) -> None:
    """Notify people of a run that did nothing; of what a run did, they hear by the register.

    :param said: why, in one line
    """
    from kafka_dr.notifications.notification import Notification

    happened = f"{verb_words(dag_id.removeprefix('dr_'))}: {said}"
    keep_news(logger, [Notification(group, "run_refused", datetime.now(UTC), happened, link=status_of(group))])


def _is_wanted(topology: Any, news: Notification) -> bool:
    return any(spec.wants(group=news.group, occasion=news.occasion) for spec in topology.notifications.values())

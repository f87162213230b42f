"""The task that sends what the outbox holds, by one of Airflow's notifiers."""

from __future__ import annotations

import os
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseNotifier, BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from kafka_dr.causes import cause
from kafka_dr.quoting import line
from kafka_dr_airflow.operators.parameters import FirstTask
from kafka_dr_airflow.operators.plain_failure import fails_plainly, plain_errors
from kafka_dr_airflow.topology_file import evidence_root, read_topology

if TYPE_CHECKING:
    from kafka_dr.notifications.notification import Notification
    from kafka_dr.notifications.outbox import NotificationOutbox
    from kafka_dr.situations.judgement import Judgement
    from kafka_dr.topology.notifiers import NotifierSpec

#: A notifier that hangs is ended then; the next run tries again. Two runs a minute fit with that, so that the news of
#: the others waits for less than half a minute.
EACH_NOTIFIER: dict[str, Any] = {
    "map_index_template": "{{ task.notifier }}",
    "retries": 0,
    "execution_timeout": timedelta(seconds=25),
}


class NotifiersWithNewsOperator(FirstTask):
    """Returns the notifiers that have something to send, for the mapped tasks, and removes what is no news any more."""

    def __init__(self, **kwargs: Any) -> None:
        defaults = {"task_id": "notifiers", "retries": 0, "execution_timeout": timedelta(minutes=1)}
        super().__init__(**{**defaults, **kwargs})

    @fails_plainly
    def execute(self, context: Any) -> list[str]:
        """Return the names, sorted."""
        from kafka_dr.notifications.outbox import NotificationOutbox

        with plain_errors():
            topology = read_topology(os.environ)
            outbox = NotificationOutbox(evidence_root(topology.evidence))
            outbox.prune(datetime.now(UTC))
            declared = topology.notifications.items()
            return sorted(name for name, spec in declared if _unsent(outbox, name, spec))


class NotifyOperator(BaseOperator):
    """Sends by one notifier what it has not sent yet, the oldest first, and stops at the first that fails.

    :param notifier: its name in the topology
    """

    ui_color = "#e6e0f2"

    def __init__(self, *, notifier: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.notifier = notifier

    @fails_plainly
    def execute(self, context: Any) -> None:
        """Send."""
        from kafka_dr.notifications.outbox import NotificationOutbox

        with plain_errors():
            topology = read_topology(os.environ)
            spec = topology.notifications[self.notifier]
            root = evidence_root(topology.evidence)
            news = _unsent(NotificationOutbox(root), self.notifier, spec)
            known = _situations(self.log, root, {each.group for each in news} & set(topology.protection_groups))
        if not news:
            raise AirflowSkipException("nothing new")
        for each in news:
            self._send(spec, each, known.get(each.group), context)
            with plain_errors():
                NotificationOutbox(root).sent(self.notifier, each, datetime.now(UTC))
            self.log.info("sent: %s: %s", each.group, line(each.happened))

    def _send(self, spec: NotifierSpec, news: Notification, now: Judgement | None, context: Any) -> None:
        """Send one notification. A notifier that is called as a callback would only log that it failed."""
        notifier = _made(spec)
        given = {**context, "notification": news.for_templates(now)}
        try:
            notifier.render_template_fields(given)
            notifier.notify(given)
        except Exception as error:  # noqa: BLE001 - whatever a notifier raises, it did not send
            raise AirflowException(
                f"notifier {self.notifier} ({spec.notifier}) did not send {news.group}: {line(news.happened)}: "
                f"{line(cause(error))}. The next run tries again, for a day: look at its connection and its arguments "
                "in the topology"
            ) from None


def _situations(logger: Any, root: Any, groups: Collection[str]) -> dict[str, Judgement]:
    """Return the situation of each group now, where it is known; what happened is sent anyway."""
    from kafka_dr.situations.reading import read_now

    try:
        found = read_now(root, groups, datetime.now(UTC))
    except OSError as error:
        logger.warning("The situation of the groups is not sent, because it cannot be read: %s", line(cause(error)))
        return {}
    return {name: each.judgement for name, each in found.items() if each.judgement.name != "nothing_known"}


def _unsent(outbox: NotificationOutbox, notifier: str, spec: NotifierSpec) -> list[Notification]:
    """Return what a notifier is declared for and has not sent, the oldest first."""
    waiting = outbox.waiting(notifier, datetime.now(UTC))
    return [each for each in waiting if spec.wants(group=each.group, occasion=each.occasion)]


def _made(spec: NotifierSpec) -> BaseNotifier:
    module, _, name = spec.notifier.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise AirflowException(
            f"{spec.notifier} cannot be imported ({line(cause(error))}): install it, or fix the name"
        ) from None
    if not (isinstance(found, type) and issubclass(found, BaseNotifier)):
        raise AirflowException(f"{spec.notifier} is not a notifier of Airflow: name a subclass of BaseNotifier")
    try:
        return found(**spec.arguments)
    except TypeError as error:
        raise AirflowException(f"{spec.notifier} does not take these arguments: {line(cause(error))}") from None

"""One request of kafka-python's own making, for the parts of the protocol that librdkafka's admin client lacks."""

from __future__ import annotations

from typing import Any

from confluent_kafka import KafkaError

from kafka_dr.clusters.errors import ClusterUnreachable, error_class, translated
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.errors import KafkaDrError


def ask(session: ClusterSession, request: Any, doing: str, *, broker: int | None = None) -> Any:
    """Send a request and return its response; brokers forward what is the controller's.

    :param request: one of kafka-python's generated request objects
    :param doing: what is being done, as it continues "could not …"
    :param broker: the number of the broker to ask; any where ``None``
    :raises ClusterUnreachable: no answer before the deadline
    """
    with session.observed(doing), translated(session.label, doing):
        try:
            return session.python_admin.request(request, broker)
        except (OSError, TimeoutError) as error:
            raise ClusterUnreachable(f"{session.label}: could not {doing}: {error}") from error


def error_of(session: ClusterSession, code: int, message: str | None, doing: str) -> KafkaDrError | None:
    """Return our error for an error code inside a response, ``None`` where there was none."""
    if code == 0:
        return None
    name = KafkaError(code).name()
    return error_class(code)(f"{session.label}: could not {doing}: {name}" + (f" ({message})" if message else ""))

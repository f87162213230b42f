"""I7: were the topics that are no more the ones that two people agreed to delete, and no others?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from lab.errors import LabError
from lab.invariants.model import STATEMENTS, InvariantResult

_CALL_SECONDS = 10.0
#: Cluster → topic → its id: one that was created again has another.
Ids = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Agreed:
    """What was agreed to.

    :param deletes: id by topic
    :param people: who said yes, as Airflow has it
    """

    cluster: str
    deletes: Mapping[str, str]
    people: Sequence[str]


def topic_ids(settings: Mapping[str, Mapping[str, str]], *, prefixes: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Ask every cluster for the ids of the topics of some prefixes.

    :raises LabError: one does not answer
    """
    return {cluster: _ids_on(cluster, each, prefixes) for cluster, each in settings.items()}


def _ids_on(cluster: str, settings: Mapping[str, str], prefixes: tuple[str, ...]) -> dict[str, str]:
    with AdminClient({**settings, "client.id": "invariants", "log_level": 2}) as client:
        try:
            names = sorted(
                name for name in client.list_topics(timeout=_CALL_SECONDS).topics if name.startswith(prefixes)
            )
            futures = client.describe_topics(TopicCollection(names), request_timeout=_CALL_SECONDS) if names else {}
            return {name: _as_told(future.result(_CALL_SECONDS).topic_id) for name, future in futures.items()}
        except KafkaException as error:
            raise LabError(f"{cluster} does not list its topics: {error}") from error


def _as_told(topic_id: object) -> str:
    """Return an id as Kafka's own tools write it: the client writes the other Base64 alphabet."""
    return str(topic_id).replace("+", "-").replace("/", "_")


def check_deletions(before: Ids, after: Ids, *, agreed: Agreed | None) -> InvariantResult:
    """Compare the topics of the beginning with those of the end."""
    gone = [
        (cluster, topic, topic_id)
        for cluster, topics in sorted(before.items())
        for topic, topic_id in sorted(topics.items())
        if after.get(cluster, {}).get(topic) != topic_id
    ]
    if not any(before.values()):
        return InvariantResult("I7", "unknown", "no topic was there at the beginning: nothing could be deleted")
    if not gone:
        return InvariantResult("I7", "held", f"{STATEMENTS['I7']}: none was deleted")
    cluster, deletes = (agreed.cluster, agreed.deletes) if agreed else ("", {})
    unasked = [f"{topic} on {where}" for where, topic, each in gone if (where, each) != (cluster, deletes.get(topic))]
    if agreed is None or unasked:
        return InvariantResult("I7", "violated", f"{len(unasked)} topics were deleted unasked", tuple(unasked[:3]))
    people = sorted(set(agreed.people))
    if len(people) < 2:
        return InvariantResult(
            "I7", "violated", f"{len(gone)} topics were deleted, and {people or 'nobody'} alone agreed to it"
        )
    said = f"{len(gone)} were deleted on {cluster}, each by its id as {' and '.join(people)} had agreed to"
    return InvariantResult("I7", "held", f"{STATEMENTS['I7']}: {said}")

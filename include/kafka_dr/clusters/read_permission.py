"""Ask coordinators whether a principal may work in a consumer group, without being a member of it.

The question is a heartbeat of a member that does not exist. Brokers ask the authorizer for READ on the group before the
coordinator looks for the member (``KafkaApis.handleHeartbeatRequest``). So the answer is GROUP_AUTHORIZATION_FAILED or
UNKNOWN_MEMBER_ID, and the group is not changed (verified on Kafka 4.3.1). The same right is needed to commit.

Whoever looks up the coordinators is another principal: the one that is asked about may not even be allowed to see the
group.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum

from confluent_kafka import KafkaError
from kafka.protocol.consumer import HeartbeatRequest

from kafka_dr.clusters.errors import error_class, in_words
from kafka_dr.clusters.group_coordinators import GroupCoordinators
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.parallel import ask_each


class ReadVerdict(StrEnum):
    """The answer of a group's coordinator to whether a principal may read and commit."""

    REFUSED = "refused"
    ALLOWED = "allowed"
    UNKNOWN = "unknown"


#: No member has this id, and no generation this number.
_NOBODY, _NO_GENERATION = "kafka-dr-question", -1
#: Answers that only a coordinator gives that has passed the authorizer.
_ALLOWED = frozenset(
    (KafkaError.UNKNOWN_MEMBER_ID, KafkaError.ILLEGAL_GENERATION, KafkaError.REBALANCE_IN_PROGRESS, KafkaError.NO_ERROR)
)
_REQUESTS_AT_ONCE = 8


class ReadPermission:
    """Asks coordinators whether the session's principal may read and commit in consumer groups."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def ask(self, groups: Iterable[str], *, seen_by: GroupCoordinators) -> dict[str, ReadVerdict]:
        """Return what the coordinator of each group answers.

        :param seen_by: looks up the coordinators
        """

        def read(coordinator: int, names: Collection[str]) -> dict[str, ReadVerdict | KafkaDrError]:
            return ask_each(lambda name: self._one(coordinator, name), names, at_most=_REQUESTS_AT_ONCE)

        found = seen_by.ask(groups, read, is_final=lambda _: True, seconds=self._session.request_seconds)
        unknown = ReadVerdict.UNKNOWN
        return {name: unknown if isinstance(answer, KafkaDrError) else answer for name, answer in found.items()}

    def _one(self, coordinator: int, group: str) -> ReadVerdict:
        wanted = HeartbeatRequest(
            group_id=group, generation_id=_NO_GENERATION, member_id=_NOBODY, group_instance_id=None
        )
        code = self._session.request(wanted, f"ask for a heartbeat in {group}", broker=coordinator).error_code
        if code == KafkaError.GROUP_AUTHORIZATION_FAILED:
            return ReadVerdict.REFUSED
        if code in _ALLOWED:
            return ReadVerdict.ALLOWED
        if issubclass(error_class(code), TryAgain):
            # It is not the coordinator any more, or not yet: the next try asks the new one.
            raise error_class(code)(f"{self._session.label}: {in_words(code)} for group {group}")
        return ReadVerdict.UNKNOWN

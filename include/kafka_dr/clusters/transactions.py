"""List open transactions, and take over transactional ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.protocol.producer import InitProducerIdRequest

from kafka_dr.clock import SystemClock
from kafka_dr.clusters.model import OpenTransaction
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.parallel import ask_all
from kafka_dr.positions import TopicPartition
from kafka_dr.waiting import SHORT_PAUSE_SECONDS, wait_until

#: States in which a transaction holds back the LSO (KIP-664).
_OPEN = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")

_TRANSACTION = 1  # the protocol's number for a transactional id among the keys of coordinators
#: The default of producers. This project writes nothing in such a transaction.
_TRANSACTION_TIMEOUT_MS = 60_000
#: How many ids are taken over at the same time.
_IDS_AT_ONCE = 16


class Transactions:
    """Lists transactions and ends them."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def open(self) -> tuple[OpenTransaction, ...]:
        """Return every transaction that is not complete, on all brokers.

        The result contains only transactional ids that the principal may DESCRIBE.
        """
        admin = self._session.python_admin
        with self._session.translated("list the open transactions"):
            listed = admin.list_transactions(state_filters=list(_OPEN))
            ids = sorted({row.transactional_id for rows in listed.values() for row in rows})
            described = admin.describe_transactions(ids) if ids else {}
        return tuple(
            OpenTransaction(
                transactional_id,
                found.producer_id,
                found.state.value,
                frozenset(TopicPartition(p.topic, p.partition) for p in found.topic_partitions),
                _began_at(found.transaction_start_time_ms),
                found.transaction_timeout_ms / 1000 if found.transaction_timeout_ms >= 0 else None,
            )
            for transactional_id, found in sorted(described.items())
            if found.state.value in _OPEN
        )

    def take_over(self, transactional_ids: Iterable[str]) -> None:
        """Abort the open transactions of these ids and fence their producers (KIP-98, InitProducerId).

        The requests are those of a producer, but no producer is made: each would log in first, and would wait long
        between two requests while a transaction is still being aborted.

        :raises NotAuthorized: the principal has no WRITE on one of the ids
        :raises ClusterUnreachable: a coordinator did not finish before the deadline
        """
        left = sorted(set(transactional_ids))

        def refusals() -> dict[str, KafkaDrError]:
            nonlocal left
            refused = self._initialized(left) if left else {}
            left = sorted(refused)
            if final := [error for error in refused.values() if not isinstance(error, TryAgain)]:
                raise final[0]
            return refused

        refused = wait_until(
            refusals,
            lambda found: not found,
            clock=SystemClock(),
            seconds=self._session.request_seconds,
            pause_seconds=SHORT_PAUSE_SECONDS,
        )
        for refusal in refused.values():
            raise refusal

    def _initialized(self, transactional_ids: Sequence[str]) -> dict[str, KafkaDrError]:
        """Ask once for a new producer epoch of each id, and return the errors of those that did not get one."""
        try:
            coordinators = self._coordinators(transactional_ids)
        except KafkaDrError as error:
            return dict.fromkeys(transactional_ids, error)
        answers = ask_all(
            lambda each: self._initialize(each, coordinators[each]), transactional_ids, at_most=_IDS_AT_ONCE
        )
        return {each: error for each, error in answers.items() if error is not None}

    def _coordinators(self, transactional_ids: Sequence[str]) -> dict[str, int]:
        request = FindCoordinatorRequest(key_type=_TRANSACTION, coordinator_keys=list(transactional_ids), min_version=4)
        found = self._session.request(request, "find the coordinators of transactions").coordinators
        for row in found:
            if (error := self._session.error(row.error_code, row.error_message, _taking_over(row.key))) is not None:
                raise error
        return {row.key: row.node_id for row in found}

    def _initialize(self, transactional_id: str, coordinator: int) -> KafkaDrError | None:
        doing = _taking_over(transactional_id)
        request = InitProducerIdRequest(
            transactional_id=transactional_id,
            transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS,
            producer_id=-1,
            producer_epoch=-1,
        )
        try:
            answer = self._session.request(request, doing, broker=coordinator)
        except KafkaDrError as error:
            return error
        return self._session.error(answer.error_code, None, doing)


def _taking_over(transactional_id: str) -> str:
    return f"take over the transactional id {transactional_id}"


def _began_at(milliseconds: int) -> datetime | None:
    return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds >= 0 else None

"""Open transactions, and taking a transactional id over from whoever holds it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.protocol.producer import InitProducerIdRequest

from kafka_dr.clusters.errors import translated
from kafka_dr.clusters.model import OpenTransaction
from kafka_dr.clusters.python_requests import ask, error_of
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.positions import TopicPartition

#: States in which a transaction holds back the LSO (KIP-664).
_OPEN = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")

_TRANSACTION = 1  # the protocol's number for a transactional id among the keys of coordinators
#: What a producer asks for unless it is told otherwise; nothing is ever written under it here.
_TRANSACTION_TIMEOUT_MS = 60_000
#: How long a coordinator that still aborts what was open is left alone.
_ABORTING_SECONDS = 0.02


class Transactions:
    """Lists transactions and ends them."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session

    def open(self) -> tuple[OpenTransaction, ...]:
        """Return every transaction that is not complete, on all brokers.

        Only those whose transactional id the principal may DESCRIBE are seen.
        """
        admin = self._session.python_admin
        with translated(self._session.label, "list the open transactions"):
            listed = admin.list_transactions(state_filters=list(_OPEN))
            ids = sorted({row.transactional_id for rows in listed.values() for row in rows})
            described = admin.describe_transactions(ids) if ids else {}
        return tuple(
            OpenTransaction(
                transactional_id,
                found.producer_id,
                found.state.value,
                frozenset(TopicPartition(p.topic, p.partition) for p in found.topic_partitions),
            )
            for transactional_id, found in sorted(described.items())
            if found.state.value in _OPEN
        )

    def take_over(self, transactional_ids: Iterable[str]) -> None:
        """Abort what is open under these ids and fence off whoever writes with them (KIP-98, InitProducerId).

        The coordinators are asked as a producer would ask them, but no producer is made: each would log in first, and
        wait long between two questions while what was open is still being aborted.

        :raises NotAuthorized: the principal has no WRITE on one of the ids
        :raises ClusterUnreachable: a coordinator did not do it before the deadline
        """
        deadline = time.monotonic() + self._session.request_seconds
        waiting = sorted(set(transactional_ids))
        while waiting:
            refusals = self._initialized(waiting)
            waiting = sorted(refusals)
            for refusal in refusals.values():
                if not isinstance(refusal, TryAgain) or time.monotonic() > deadline:
                    raise refusal
            if waiting:
                time.sleep(_ABORTING_SECONDS)

    def _initialized(self, transactional_ids: Sequence[str]) -> dict[str, KafkaDrError]:
        """Ask once for a new producer epoch of each id, and return why some were not given one."""
        try:
            coordinators = self._coordinators(transactional_ids)
        except KafkaDrError as error:
            return dict.fromkeys(transactional_ids, error)
        with ThreadPoolExecutor(max_workers=min(16, len(transactional_ids))) as pool:
            answers = pool.map(lambda each: self._initialize(each, coordinators[each]), transactional_ids)
            return {each: error for each, error in zip(transactional_ids, answers, strict=True) if error is not None}

    def _coordinators(self, transactional_ids: Sequence[str]) -> dict[str, int]:
        request = FindCoordinatorRequest(key_type=_TRANSACTION, coordinator_keys=list(transactional_ids), min_version=4)
        found = ask(self._session, request, "find the coordinators of transactions").coordinators
        for row in found:
            if (error := error_of(self._session, row.error_code, row.error_message, _taking_over(row.key))) is not None:
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
            answer = ask(self._session, request, doing, broker=coordinator)
        except KafkaDrError as error:
            return error
        return error_of(self._session, answer.error_code, None, doing)


def _taking_over(transactional_id: str) -> str:
    return f"take over the transactional id {transactional_id}"

"""Open transactions, and taking a transactional id over from whoever holds it."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from kafka_dr.clusters.errors import translated
from kafka_dr.clusters.model import OpenTransaction, TopicPartition
from kafka_dr.clusters.session import ClusterSession

#: States in which a transaction holds back the LSO (KIP-664).
_OPEN = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")


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

        :raises NotAuthorized: the principal has no WRITE on one of the ids
        """
        wanted = sorted(set(transactional_ids))
        if wanted:
            with ThreadPoolExecutor(max_workers=min(16, len(wanted))) as pool:
                list(pool.map(self._session.transactional_producer, wanted))

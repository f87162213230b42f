"""Transactions of the source that keep a take over waiting.

A replicator that reads what is not committed has copied their records. If they are committed, this project's flow must
not copy them again; if they are aborted, their copies are a fault. So nothing is judged before they end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafka_dr.clusters import OpenTransaction, TopicPartition
from kafka_dr.counted import counted
from kafka_dr.durations import duration

#: How many transactions, or partitions, a sentence names.
_SHOWN = 3


def waits_for(
    transactions: Collection[OpenTransaction],
    held_back: Mapping[TopicPartition, int],
    *,
    source: str,
    target: str,
    offsets: int,
) -> str:
    """Say which transactions the take over waits for, and what to do.

    :param transactions: all that are open on the source
    :param held_back: by partition, the offset of the source from which on it is not known what is committed
    :param source: the name of the source
    :param target: the name of the target
    :param offsets: how many offsets of the target wait to be compared
    """
    found = sorted((each for each in transactions if each.partitions & held_back.keys()), key=_oldest_first)
    shown = "; ".join(map(_in_words, found[:_SHOWN]))
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    if not found:
        shown = "none of them is listed, so they may hang: find them with kafka-transactions.sh find-hanging"
    return (
        f"{counted(offsets, 'offset')} of {target} cannot be compared, because transactions on {source} are "
        f"open and what "
        f"copies the group may have copied records of them: {shown}{more}. They hold back {_places(held_back)}. "
        "Let their applications commit or abort them, or abort them with kafka-transactions.sh"
    )


def _oldest_first(transaction: OpenTransaction) -> tuple[float, str]:
    began = transaction.began_at
    return (0.0 if began is None else began.timestamp()), transaction.transactional_id


def _in_words(transaction: OpenTransaction) -> str:
    since = "" if transaction.began_at is None else f" since {transaction.began_at:%Y-%m-%d %H:%M:%S} UTC"
    until = "" if transaction.timeout_seconds is None else f", timeout {duration(transaction.timeout_seconds)}"
    return f"the transactional id {transaction.transactional_id} ({transaction.state}{since}{until})"


def _places(held_back: Mapping[TopicPartition, int]) -> str:
    places = [f"{p} from offset {offset} on" for p, offset in sorted(held_back.items())]
    more = f" and {len(places) - _SHOWN} more partitions" if len(places) > _SHOWN else ""
    return ", ".join(places[:_SHOWN]) + more

"""Errors of the client libraries, translated into this project's errors by what the caller should do.

::

    KafkaDrError
    ├── TryAgain
    │   └── ClusterUnreachable      no answer before the deadline, or an error that passes with time
    │       └── StaleMetadata       the client's leader or leader epoch is not the broker's
    ├── OutcomeUnknown              a commit or a write was sent and not answered
    └── ClusterError                the cluster answered with an error
        ├── NotAuthorized           the principal lacks a right, or is fenced
        ├── NotFound                no such topic, partition or group
        ├── GroupNotEmpty           offsets of a group with live members cannot be set
        └── WriterFenced            another writer took the transactional id over
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from typing import NoReturn

from confluent_kafka import KafkaError, KafkaException
from kafka.errors import KafkaError as PythonKafkaError

from kafka_dr.errors import KafkaDrError, TryAgain

_log = logging.getLogger(__name__)

#: An answer that takes longer is logged, in seconds. Most answers take a few hundredths of a second.
SLOW_SECONDS = 0.8


class ClusterError(KafkaDrError):
    """The cluster answered with an error."""


class ClusterUnreachable(TryAgain):
    """No answer before the deadline, or an error that passes with time."""


class StaleMetadata(ClusterUnreachable):
    """The client's idea of the leader, or of its epoch, is not the broker's."""


class NotAuthorized(ClusterError):
    """The principal lacks a right, or is fenced."""


class NotFound(ClusterError):
    """There is no such topic, partition or group."""


class GroupNotEmpty(ClusterError):
    """The group has live members, so nobody else can set its offsets."""


class WriterFenced(ClusterError):
    """Another writer took the transactional id over; this writer can never write again."""


_NOT_AUTHORIZED = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError._AUTHENTICATION,
}
_NOT_FOUND = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.UNKNOWN_TOPIC_ID,
    KafkaError.GROUP_ID_NOT_FOUND,
}
_FENCED = {
    KafkaError._FENCED,
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.INVALID_PRODUCER_ID_MAPPING,
}
_NOT_EMPTY = {KafkaError.NON_EMPTY_GROUP, KafkaError.UNKNOWN_MEMBER_ID}
#: After a broker hung for a while, its leader epoch may be newer than the one that the client knows.
_STALE = {
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    # A leader that was just elected does not know its high watermark yet (KIP-207).
    KafkaError.OFFSET_NOT_AVAILABLE,
    # No leader is known: either there is none at this moment, or the topic does not exist. Only describing it shows.
    KafkaError._NOENT,
}
_UNREACHABLE = {
    KafkaError._TIMED_OUT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TRANSPORT,
    KafkaError._RESOLVE,
    KafkaError._TIMED_OUT_QUEUE,
    KafkaError._MSG_TIMED_OUT,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError._WAIT_COORD,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_CONTROLLER,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.NOT_ENOUGH_REPLICAS,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.CONCURRENT_TRANSACTIONS,
    KafkaError.UNSTABLE_OFFSET_COMMIT,
    KafkaError._DESTROY,
}

_CLASS_OF_CODE: dict[int, type[KafkaDrError]] = {
    **dict.fromkeys(_NOT_AUTHORIZED, NotAuthorized),
    **dict.fromkeys(_NOT_FOUND, NotFound),
    **dict.fromkeys(_FENCED, WriterFenced),
    **dict.fromkeys(_NOT_EMPTY, GroupNotEmpty),
    **dict.fromkeys(_UNREACHABLE, ClusterUnreachable),
    **dict.fromkeys(_STALE, StaleMetadata),
}


def error_class(code: int) -> type[KafkaDrError]:
    """Return the class for an error code of the protocol or of librdkafka."""
    return _CLASS_OF_CODE.get(code, ClusterError)


def raise_translated(error: KafkaError, *, cluster: str, doing: str, cause: BaseException | None = None) -> NoReturn:
    """Raise this project's error for an error of librdkafka.

    :param doing: what was being done, as it continues "could not …"
    """
    kind = error_class(error.code())
    raise kind(f"{cluster}: could not {doing}: {error.name()} ({error.str()})") from cause


@contextmanager
def translated(cluster: str, doing: str) -> Iterator[None]:
    """Turn every error of a client library inside the block into one of this project's.

    :param cluster: the name of the cluster, for the message
    :param doing: what is being done, as it continues "could not …"
    """
    began = time.monotonic()
    try:
        yield
    except KafkaException as error:
        if not isinstance(error.args[0], KafkaError):
            raise ClusterError(f"{cluster}: could not {doing}: {error}") from error
        raise_translated(error.args[0], cluster=cluster, doing=doing, cause=error)
    except FutureTimeoutError as error:
        raise ClusterUnreachable(f"{cluster}: could not {doing}: no answer before the deadline") from error
    except PythonKafkaError as error:
        kind = error_class(getattr(error, "errno", 0) or 0)
        if kind is ClusterError and getattr(error, "retriable", False):
            kind = ClusterUnreachable
        raise kind(f"{cluster}: could not {doing}: {type(error).__name__} ({error})") from error
    finally:
        log_if_slow(cluster, doing, time.monotonic() - began)


def log_if_slow(cluster: str, doing: str, seconds: float) -> None:
    """Log a slow answer, so that the task's log shows later what a step waited for."""
    if seconds > SLOW_SECONDS:
        _log.warning("%s: it took %.1f s to %s", cluster, seconds, doing)

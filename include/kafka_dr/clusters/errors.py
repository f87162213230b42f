"""Errors of the client libraries, translated into this project's errors by what the caller should do.

::

    KafkaDrError
    ├── Unanswered
    │   ├── TryAgain
    │   │   └── ClusterUnreachable  no answer before the deadline, or an error that passes with time
    │   │       ├── StaleMetadata   the client's leader or leader epoch is not the broker's
    │   │       └── BrokerLetGo     the cluster did not name the broker any more that was asked
    │   └── ConnectionMistake       the cluster does not accept the login or the certificate
    ├── OutcomeUnknown              a commit or a write was sent and not answered
    └── ClusterError                the cluster answered with an error
        ├── NotAuthorized           the principal lacks a right, or is fenced
        ├── NotFound                no such topic, partition or group
        ├── AlreadyExists           there is a topic of that name
        ├── GroupNotEmpty           offsets of a group with live members cannot be set
        └── WriterFenced            another writer took the transactional id over

The words of the libraries end here: what leaves this module is a sentence for people.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from typing import NoReturn

from confluent_kafka import KafkaError, KafkaException
from kafka.errors import KafkaError as PythonKafkaError
from kafka.errors import KafkaTimeoutError, for_code

from kafka_dr.causes import cause
from kafka_dr.errors import ConnectionMistake, KafkaDrError, TryAgain

_log = logging.getLogger(__name__)

#: An answer that takes longer is logged, in seconds. Most answers take a few hundredths of a second.
SLOW_SECONDS = 0.8


class ClusterError(KafkaDrError):
    """The cluster answered with an error."""


class ClusterUnreachable(TryAgain):
    """No answer before the deadline, or an error that passes with time."""


class StaleMetadata(ClusterUnreachable):
    """The client's idea of the leader, or of its epoch, is not the broker's."""


class BrokerLetGo(ClusterUnreachable):
    """The client let go of the broker that it had asked, because the cluster did not name it any more."""


class NotAuthorized(ClusterError):
    """The principal lacks a right, or is fenced."""


class NotFound(ClusterError):
    """There is no such topic, partition or group."""


class AlreadyExists(ClusterError):
    """There is a topic of that name."""


class GroupNotEmpty(ClusterError):
    """The group has live members, so nobody else can set its offsets."""


class WriterFenced(ClusterError):
    """Another writer took the transactional id over; this writer can never write again."""


_NOT_AUTHORIZED = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
_MISTAKES = {
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
    KafkaError.ILLEGAL_SASL_STATE,
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
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
    **dict.fromkeys(_MISTAKES, ConnectionMistake),
    **dict.fromkeys(_NOT_FOUND, NotFound),
    KafkaError.TOPIC_ALREADY_EXISTS: AlreadyExists,
    **dict.fromkeys(_FENCED, WriterFenced),
    **dict.fromkeys(_NOT_EMPTY, GroupNotEmpty),
    **dict.fromkeys(_UNREACHABLE, ClusterUnreachable),
    **dict.fromkeys(_STALE, StaleMetadata),
    KafkaError._DESTROY_BROKER: BrokerLetGo,
}


#: What the library itself means, where its own text is none that helps a person. A broker's errors have good texts.
_LOST, _LATE = "the connection was lost or could not be made", "no answer before the deadline"
_WORDS: dict[int, str] = {
    KafkaError._TRANSPORT: _LOST,
    KafkaError._ALL_BROKERS_DOWN: "no broker can be reached",
    KafkaError._RESOLVE: "its host name is unknown here",
    KafkaError._AUTHENTICATION: "the login was refused",
    KafkaError._SSL: "TLS could not be agreed on",
    KafkaError._TIMED_OUT: _LATE,
    KafkaError._MSG_TIMED_OUT: _LATE,
    KafkaError._TIMED_OUT_QUEUE: _LATE,
    KafkaError._WAIT_COORD: "the coordinator is not known yet",
    KafkaError._NOENT: "no leader is known",
    KafkaError._UNKNOWN_TOPIC: "there is no such topic",
    KafkaError._UNKNOWN_PARTITION: "there is no such partition",
    KafkaError._FENCED: "another writer took over",
    KafkaError._INCONSISTENT: "the brokers' answers do not fit together",
    KafkaError._STATE: "the client is not in the state that this needs",
    KafkaError._DESTROY: "the client was closed meanwhile",
    KafkaError._DESTROY_BROKER: "the cluster does not name the broker that was asked any more",
    KafkaError._PURGE_QUEUE: "it was given up before it was sent",
    KafkaError.UNKNOWN_TOPIC_OR_PART: "there is no such topic or partition",
}
_ORIGIN = re.compile(r"^(?:Broker|Local): ")


def error_class(code: int) -> type[KafkaDrError]:
    """Return the class for an error code of the protocol or of librdkafka."""
    return _CLASS_OF_CODE.get(code, ClusterError)


def in_words(code: int, said: str | None = None) -> str:
    """Return what an error code means, as it continues "could not …: ".

    :param said: what came with the code; it is shown if a broker said it
    """
    usual = KafkaError(code).str()
    text = _ORIGIN.sub("", usual) if not usual.startswith("Err-") else _spelled_out(for_code(code).__name__)
    words = _WORDS.get(code) or text[:1].lower() + text[1:]
    added = "" if code < 0 or not said or said == usual else f" ({_ORIGIN.sub('', said)})"
    return words + added


def raise_translated(error: KafkaError, *, cluster: str, doing: str, because: BaseException | None = None) -> NoReturn:
    """Raise this project's error for an error of librdkafka.

    :param doing: what was being done, as it continues "could not …"
    """
    kind = error_class(error.code())
    raise kind(f"{cluster}: could not {doing}: {in_words(error.code(), error.str())}") from because


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
            raise ClusterError(f"{cluster}: could not {doing}: {cause(error)}") from error
        raise_translated(error.args[0], cluster=cluster, doing=doing, because=error)
    except FutureTimeoutError as error:
        raise ClusterUnreachable(f"{cluster}: could not {doing}: {_LATE}") from error
    except PythonKafkaError as error:
        kind, words = _of_kafka_python(error)
        raise kind(f"{cluster}: could not {doing}: {words}") from error
    finally:
        log_if_slow(cluster, doing, time.monotonic() - began)


def _of_kafka_python(error: PythonKafkaError) -> tuple[type[KafkaDrError], str]:
    code = getattr(error, "errno", 0) or 0
    kind = error_class(code)
    if kind is ClusterError and getattr(error, "retriable", False):
        kind = ClusterUnreachable
    if code > 0:
        return kind, in_words(code)
    if isinstance(error, KafkaTimeoutError):
        return kind, _LATE
    return kind, _LOST if kind is ClusterUnreachable else _spelled_out(type(error).__name__)


def _spelled_out(name: str) -> str:
    """Return the name of a class in words, without the word that each of them ends with."""
    return " ".join(re.findall(r"[A-Z][a-z]*|[a-z]+", name.removesuffix("Error"))).lower()


def log_if_slow(cluster: str, doing: str, seconds: float) -> None:
    """Log a slow answer, so that the task's log shows later what a step waited for."""
    if seconds > SLOW_SECONDS:
        _log.warning("%s: it took %.1f s to %s", cluster, seconds, doing)

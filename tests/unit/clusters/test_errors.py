from __future__ import annotations

import re
from concurrent.futures import Future

import pytest
from confluent_kafka import KafkaError, KafkaException
from kafka import errors as python_errors

from kafka_dr.clusters.errors import (
    BrokerLetGo,
    ClusterError,
    ClusterUnreachable,
    GroupNotEmpty,
    NotAuthorized,
    NotFound,
    StaleMetadata,
    WriterFenced,
    translated,
)
from kafka_dr.errors import ConnectionMistake, KafkaDrError, OutcomeUnknown, TryAgain

E = KafkaError


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (E.TOPIC_AUTHORIZATION_FAILED, NotAuthorized), (E.GROUP_AUTHORIZATION_FAILED, NotAuthorized),
        (E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, NotAuthorized), (E._AUTHENTICATION, ConnectionMistake),
        (E.UNKNOWN_TOPIC_OR_PART, NotFound), (E.GROUP_ID_NOT_FOUND, NotFound),
        (E.INVALID_PRODUCER_EPOCH, WriterFenced), (E._FENCED, WriterFenced),
        (E.UNKNOWN_MEMBER_ID, GroupNotEmpty), (E.NON_EMPTY_GROUP, GroupNotEmpty),
        (E._TIMED_OUT, ClusterUnreachable), (E._ALL_BROKERS_DOWN, ClusterUnreachable),
        (E.NOT_COORDINATOR, ClusterUnreachable), (E.FENCED_LEADER_EPOCH, StaleMetadata),
        (E._NOENT, StaleMetadata), (E.NOT_ENOUGH_REPLICAS, ClusterUnreachable),
        (E.INVALID_CONFIG, ClusterError), (E._DESTROY_BROKER, BrokerLetGo),
    ],
)  # fmt: skip
def test_errors_of_librdkafka_become_the_error_that_says_what_to_do(code: int, kind: type[KafkaDrError]) -> None:
    with pytest.raises(kind) as caught, translated("east as probe", "read the ACLs"):
        raise KafkaException(KafkaError(code))
    assert type(caught.value) is kind
    assert str(caught.value).startswith("east as probe: could not read the ACLs: ")
    assert isinstance(caught.value.__cause__, KafkaException)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (python_errors.TransactionalIdAuthorizationFailedError("t"), NotAuthorized),
        (python_errors.UnknownTopicOrPartitionError("t"), NotFound),
        (python_errors.NodeNotReadyError("n"), ClusterUnreachable),
        (python_errors.KafkaTimeoutError("late"), ClusterUnreachable),
        (python_errors.KafkaConnectionError("refused"), ClusterUnreachable),
        (python_errors.TransactionalIdNotFoundError("t"), ClusterError),
    ],
)
def test_errors_of_kafka_python_become_the_same_errors(error: Exception, kind: type[KafkaDrError]) -> None:
    with (
        pytest.raises(kind, match=r"^east: could not list transactions: [a-zA-Z ]+$") as caught,
        translated("east", "list transactions"),
    ):
        raise error
    assert type(caught.value) is kind


def _raised(error: Exception) -> str:
    with pytest.raises(KafkaDrError) as caught, translated("east", "ask"):
        raise error
    return str(caught.value)


def _codes() -> list[int]:
    numbers = (getattr(KafkaError, name) for name in dir(KafkaError))
    return sorted({each for each in numbers if isinstance(each, int)})


def test_no_word_of_a_library_leaves_the_door() -> None:
    """Neither of librdkafka, whose words have an underscore or are in capitals, nor a class of kafka-python."""
    kinds = [each for each in vars(python_errors).values() if isinstance(each, type)]
    errors = [KafkaException(KafkaError(code)) for code in _codes()]
    kinds = [each for each in kinds if issubclass(each, python_errors.KafkaError)]
    errors += [each({}) if each is python_errors.LogTruncationError else each() for each in kinds]
    assert len(errors) > 200
    for said in map(_raised, errors):
        words = said.removeprefix("east: could not ask: ")
        assert words != said
        assert words
        assert not re.search(r"_[A-Z]|[A-Z]_|[a-z][A-Z]\w*Error|Local:|Broker:|\[Error|KafkaError", said), said


def test_what_a_broker_says_next_to_its_code_is_kept() -> None:
    said = _raised(KafkaException(KafkaError(E.POLICY_VIOLATION, "at most 12 partitions")))
    assert said.endswith("(at most 12 partitions)")
    assert _raised(KafkaException(KafkaError(E._TRANSPORT, "Failed to get metadata"))) == (
        "east: could not ask: the connection was lost or could not be made"
    )


def test_a_future_without_an_answer_is_unreachable() -> None:
    sentence = "east: could not ask: no answer before the deadline"
    with pytest.raises(ClusterUnreachable, match=sentence), translated("east", "ask"):
        Future[None]().result(0)


def test_an_exception_without_a_code_is_still_translated() -> None:
    with (
        pytest.raises(
            ClusterError, match=r"east: could not ask: something unforeseen happened \(kafka\), and the log says what"
        ),
        translated("east", "ask"),
    ):
        raise KafkaException("something odd")


def test_errors_of_this_project_pass_unchanged() -> None:
    with pytest.raises(OutcomeUnknown, match=r"^as it was$"), translated("east", "ask"):
        raise OutcomeUnknown("as it was")


def test_only_an_unreachable_cluster_may_be_tried_again() -> None:
    kinds = (NotAuthorized, NotFound, GroupNotEmpty, WriterFenced, ClusterError, ClusterUnreachable, StaleMetadata)
    assert [kind for kind in kinds if issubclass(kind, TryAgain)] == [ClusterUnreachable, StaleMetadata]

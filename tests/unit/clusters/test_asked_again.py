"""A question whose broker the client lets go of is asked again: its controller may have fenced it for a moment."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafka_dr.clusters import ClientSettings
from kafka_dr.clusters.errors import BrokerLetGo
from kafka_dr.clusters.session import ClusterSession


def answered(with_what: str | KafkaError) -> Future[str]:
    future: Future[str] = Future()
    if isinstance(with_what, str):
        future.set_result(with_what)
    else:
        future.set_exception(KafkaException(with_what))
    return future


def test_a_question_is_asked_again_until_a_broker_answers() -> None:
    session = ClusterSession("east", ClientSettings("127.0.0.1:1"))
    answers = iter([KafkaError(KafkaError._DESTROY_BROKER), KafkaError(KafkaError._DESTROY_BROKER), "all ACLs"])
    assert session.read(lambda: answered(next(answers)), "read the ACLs") == "all ACLs"


def test_it_is_not_asked_for_longer_than_one_request_may_take() -> None:
    session = ClusterSession("east", ClientSettings("127.0.0.1:1"), request_seconds=0.3)
    with pytest.raises(BrokerLetGo, match="does not name the broker"):
        session.read(lambda: answered(KafkaError(KafkaError._DESTROY_BROKER)), "read the ACLs")

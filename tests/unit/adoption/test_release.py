"""What a release says of topics that nothing copies afterwards."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.adoption.un_adopt import decision, question
from kafka_dr.adoption.un_adopt.checks import all_topics_are_copied
from kafka_dr.adoption.un_adopt.context import ReleaseContext
from kafka_dr.clock import SystemClock
from kafka_dr.clusters import TopicPartition
from kafka_dr.replication.existing.mirrormaker_connect import MirrorMakerOnConnect
from kafka_dr.replication.settings import CONNECTOR_CLASS, IDENTITY
from support.connect_api import ConnectApi, reached_connect

TOPICS = ("orders.payments", "orders.refunds", "orders.dr-canary")


def release(existing: object, hand_back_to: str = "existing") -> ReleaseContext:
    """Return a release of a group with these topics, whose former replication is asked."""
    partitions = tuple(TopicPartition(topic, 0) for topic in TOPICS)
    run: Any = SimpleNamespace(
        journal={"claim": {"hand_back_to": hand_back_to}},
        partitions=lambda _: partitions,
        source="east",
        group=SimpleNamespace(canary_topic="orders.dr-canary"),
    )
    context = ReleaseContext(run)
    context.__dict__["existing"] = existing
    return context


@pytest.mark.parametrize(
    ("topics", "left"), [("orders.payments", ("orders.refunds",)), ("orders.payments,orders.refunds", ())]
)
def test_a_topic_that_the_former_replication_does_not_copy_is_named_and_the_canary_topic_is_not(
    topics: str, left: tuple[str, ...]
) -> None:
    config = {"connector.class": CONNECTOR_CLASS, "topics": topics, "replication.policy.class": IDENTITY}
    with reached_connect(ConnectApi({"old": config})) as connect:
        existing = MirrorMakerOnConnect(connect, ["old"], owns=bool, worker_group=None, clock=SystemClock())
        context = release(existing)
        assert context.uncopied_topics() == left
        assert decision.uncopied(context) == list(left)
        found = all_topics_are_copied(context)
        assert found.outcome == ("warning" if left else "ok")
        assert ("does not copy orders.refunds, so nothing copies that" in found.detail) is bool(left)
    assert release(existing, "own_flow").uncopied_topics() == (), "this project's connector copies all of them"


def test_the_approver_reads_what_nothing_copies_afterwards() -> None:
    decided: dict[str, Any] = {"hand_back_to": "existing", "former_principal": "User:old"}
    measured = {"existing": "the connector old"}
    said = question.copied_by({**decided, "uncopied_topics": ["orders.refunds"]}, measured)
    assert said.endswith("copies again, as `User:old`. **Nothing copies** `orders.refunds`")
    assert "Nothing copies" not in question.copied_by({**decided, "uncopied_topics": []}, measured)
    many = question.copied_by({**decided, "uncopied_topics": [f"t{n}" for n in range(25)]}, measured)
    assert many.endswith("`t19` and 5 more")

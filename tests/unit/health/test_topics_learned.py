"""The ids of topics in a health check: which of them are learned, and what is said while a register takes no record."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.checks.topic_identity import JOURNAL, TopicIds
from kafka_dr.clusters.errors import NotFound
from kafka_dr.errors import TryAgain
from kafka_dr.health.health_check import _same_topics
from kafka_dr.positions import TopicPartition
from kafka_dr.register.flow_seed import FLOW_SEED, FlowSeed
from kafka_dr.replication.flow import Flow
from support.memory_register import MemoryRegister
from support.register_states import a_state

STATE = a_state()
SEED = FlowSeed(STATE.epoch, "east", "west", {})
FULL = "the register of west takes no records"


class RefusingRegister(MemoryRegister):
    """A register that takes no record for as long as it has a fault."""

    fault = ""

    def problem(self) -> str:
        return self.fault


class CopiedTopics:
    """Both registers, the topics of both clusters, and a flow that has copied some of them."""

    def __init__(self, **topics: str) -> None:
        self.registers = {"east": RefusingRegister(), "west": RefusingRegister()}
        for register in self.registers.values():
            register.write_fact(STATE.group, STATE.run, FLOW_SEED, SEED.to_json())
        self.topics: dict[str, dict[str, str]] = {"east": {}, "west": topics}
        self.copied: set[str] | NotFound = set()

    def look(self) -> Any:
        context: Any = SimpleNamespace(
            group=SimpleNamespace(name=STATE.group),
            clock=SimpleNamespace(now=lambda: datetime(2026, 11, 27, tzinfo=UTC)),
            declared=SimpleNamespace(renames_copies=False),
            flow_between=partial(Flow, STATE.group),
            topic_ids=lambda cluster: self.topics[cluster],
            ids_of_copies=lambda flow: self.topics[flow.target],
            clients=SimpleNamespace(register=self.registers.__getitem__, replicator=lambda _: self),
        )
        guard: Any = SimpleNamespace(require=lambda: None)
        return _same_topics(context, STATE, "west", guard)

    #: As messages name what runs the flow.
    described = "the connector"

    def committed(self, *, remembered: bool) -> dict[TopicPartition, int]:
        assert remembered, "a look of every minute reads no whole topic"
        if isinstance(self.copied, NotFound):
            raise self.copied
        return {TopicPartition(name, 0): 1 for name in self.copied}

    def known(self, cluster: str) -> dict[str, str]:
        fact = self.registers["east"].facts(STATE.group, JOURNAL)[JOURNAL]
        return dict(TopicIds.of(SEED, fact).ids[cluster])


def test_the_id_of_a_topic_is_learned_when_something_of_it_was_copied() -> None:
    world = CopiedTopics(orders="w1", filled="by something else")
    world.copied = {"orders"}
    assert world.look().outcome == "ok"
    assert world.known("west") == {"orders": "w1"}
    world.topics["west"]["filled"] = "w2"
    world.copied = {"orders", "filled"}
    assert world.look().outcome == "ok"
    assert world.known("west") == {"orders": "w1", "filled": "w2"}
    world.topics["west"]["filled"] = "w3"
    assert world.look().outcome == "failed"


def test_of_a_flow_whose_positions_are_elsewhere_only_seeded_topics_are_learned() -> None:
    world = CopiedTopics(orders="w1")
    world.copied = NotFound("Connect keeps its positions elsewhere")
    assert world.look().outcome == "ok"
    assert world.known("west") == {}


def test_a_topic_that_is_another_one_is_named_also_while_a_register_takes_no_record() -> None:
    world = CopiedTopics(orders="w1")
    world.copied = {"orders"}
    assert world.look().outcome == "ok"
    world.registers["west"].fault = FULL
    world.topics["west"]["refunds"] = "w9"
    world.copied = {"orders", "refunds"}
    with pytest.raises(TryAgain, match=FULL):
        world.look()
    world.topics["west"]["orders"] = "w2"
    said = world.look()
    assert said.outcome == "failed"
    assert "orders" in said.detail

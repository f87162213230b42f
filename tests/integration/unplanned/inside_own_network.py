"""Run by ``test_lost_one_way`` in a network of its own: the source's answers are lost, requests to it arrive."""

from __future__ import annotations

from contextlib import AbstractContextManager

import pytest
from confluent_kafka import Producer

from kafka_dr.disaster.probes import take_probes
from kafka_dr.register import Phase
from kafka_dr.runs.request import StepName
from lab import rights
from support import outside_view
from support.disaster import Disaster
from support.own_network import answers_lost
from support.vantage import vantage

pytestmark = pytest.mark.kafka

UNHEARD = b"arrived, and nobody heard of it"


def losing_answers(disaster: Disaster) -> AbstractContextManager[None]:
    """Lose the answers of the active cluster."""
    lab = disaster.group.protection.lab
    servers = lab.cluster(disaster.active).bootstrap(lab.settings)
    return answers_lost(int(servers.rpartition(":")[2]))


def connected(disaster: Disaster) -> Producer:
    """Return an application that has written to the active cluster already."""
    settings = disaster.group.protection.lab.client_settings(disaster.active, rights.ORDERS_APP)
    producer = Producer({**settings, "message.timeout.ms": 1500, "retries": 0})
    producer.produce(disaster.group.protection.topic, value=b"heard")
    assert producer.flush(10) == 0
    return producer


def test_the_source_is_seen_down_in_time_and_given_up_and_it_is_fenced_when_it_answers_again(
    disaster: Disaster,
) -> None:
    group, topic = disaster.group, disaster.group.protection.topic
    application = connected(disaster)
    disaster.look()
    disaster.remember()
    with losing_answers(disaster), vantage() as office:
        disaster.watch_from(office.address)
        application.produce(topic, value=UNHEARD)
        with group.protection.clients() as clients:
            probes = take_probes(group.protection.group, clients, source="east", target="west", seconds=5)
        disaster.go(StepName.VERIFY, disaster.request(override=""))
        took_writes = group.protection.takes_writes("west")
        run = disaster.state().run
        unacknowledged = application.flush(0.1) or None

    assert {probe.name: probe.outcome for probe in probes} == {
        "metadata": "failed",
        "brokers": "unknown",
        "controller": "unknown",
        "partitions": "unknown",
        "writes": "unknown",
        "register": "unknown",
        # Nobody publishes canaries or audits the lag of this group.
        "canary": "unknown",
        "lag": "unknown",
        # It runs; whether it copies is not known while its source is away.
        "flow": "unknown",
        "vantage office": "failed",
    }
    assert took_writes
    group.wait_answering()
    record = disaster.step(StepName.SETTLE, disaster.request_of(run))
    assert record.facts["source_side"]["fenced"], record.facts
    assert disaster.state().phase is Phase.DIVERGED
    assert group.protection.refuses_writes("east")
    assert disaster.read_again() == {f"{group.name}-head": 0, f"{group.name}-slow": 0}
    # Only the answer is lost: the application gave the record up, and the source has it.
    assert unacknowledged is None
    there = outside_view.contents(group.protection, "east")
    assert UNHEARD in {value for log in there.values() for _, _, value, _ in log}

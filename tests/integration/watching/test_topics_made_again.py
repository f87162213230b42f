"""A topic that somebody deletes and creates again: a running flow says nothing of it, so each look compares the ids."""

from __future__ import annotations

import pytest

from kafka_dr.adoption.adopt import adopt
from kafka_dr.clusters import KafkaCluster, TopicPartition
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.errors import KafkaDrError
from kafka_dr.health.health_check import check_health
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.request import RunRequest, StepName
from kafka_dr.verbs.runner import run_step
from kafka_dr.watch.canary_check import watch_canary
from kafka_dr.watch.reconcile_flows import reconcile_flows
from support import outside_view
from support.disaster import Disaster
from support.protection import STEPS_OF_RELEASE, Protection
from support.switched_group import SwitchedGroup
from support.waiting import eventually

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize("cluster", ["east", pytest.param("west", marks=pytest.mark.long)])
def test_each_look_and_each_question_says_that_it_is_another_topic(protection: Protection, cluster: str) -> None:
    protection.adopt()
    protection.produce("east", 60)
    protection.wait_copied()
    assert "another topic" not in _said(_health(protection))

    _make_again(protection, cluster)

    expected = f"on {cluster} is another topic than the one that was copied"
    looked = _health(protection)
    assert looked.outcome == "failed"
    assert expected in _said(looked)
    with protection.clients() as clients:
        flows, canary = reconcile_flows(protection.name, clients), watch_canary(protection.name, clients)
    for found in (flows, canary):
        assert found.outcome == "failed"
        assert expected in found.sentences[0], found.sentences
        assert "(since " in found.sentences[0]
    assert expected in _refused(protection, StepName.PREFLIGHT)
    if cluster == "west":
        unplanned = Disaster.of(SwitchedGroup(protection)).request(override="")
        # A rule that one vantage can meet lets it look.
        rule = protection.group.disaster.model_copy(update={"vantages_needed": 1})
        with protection.changed(disaster=rule), protection.clients() as clients, pytest.raises(KafkaDrError) as refused:
            run_step(StepName.GATHER_EVIDENCE, unplanned, clients)
        assert expected in str(refused.value)


@pytest.mark.parametrize("cluster", [pytest.param("east", marks=pytest.mark.long), "west"])
def test_what_the_sentence_says_to_do_copies_the_topic_from_its_start(protection: Protection, cluster: str) -> None:
    protection.adopt()
    protection.produce("east", 60)
    protection.wait_copied()
    assert "another topic" not in _said(_health(protection))
    _make_again(protection, cluster)
    protection.produce("east", 30)
    todo = (
        f"release the group with dr_un_adopt (own_flow), delete the connector {protection.flow.name} on "
        "the Connect cluster of west and the group's topics on west, and adopt it again with dr_adopt "
        "(create_canary_topic)"
    )
    assert todo in _said(_health(protection))

    with protection.clients() as clients:
        request = RunRequest(protection.name, "release", reason="a test", verb="un_adopt", hand_back_to="own_flow")
        run_step(StepName.PREFLIGHT, request, clients)
        protection.approve(request, clients)
        for step in STEPS_OF_RELEASE:
            run_step(step, request, clients)
    protection.delete_flows()
    with protection.cluster("west", "admin") as admin:
        _delete(admin, [name for name in admin.topics.names() if name.startswith(f"{protection.name}.")])
    with protection.clients() as clients:
        assert adopt(protection.name, clients, "again", create_canary_topic=True).outcome == "done"
        reconcile_flows(protection.name, clients)
    protection.wait_copied()
    logs = {name: outside_view.contents(protection, name).values() for name in ("east", "west")}
    held = {name: [each for log in found for each in log] for name, found in logs.items()}
    assert len(held["east"]) >= (30 if cluster == "east" else 90)
    assert sorted(map(str, held["west"])) == sorted(map(str, held["east"]))
    assert "another topic" not in _said(_health(protection))


def test_a_topic_of_the_standby_that_nothing_was_copied_to_may_be_deleted_before_it_is_copied(
    protection: Protection,
) -> None:
    protection.adopt()
    protection.produce("east", 60)
    protection.wait_copied()
    new = TopicPartition(f"{protection.name}.new", 0)
    with protection.cluster("west", "admin") as admin:
        admin.topics.create(new.topic, partitions=1, replication_factor=1, config={})
        eventually(lambda: new.topic in admin.topics.names())
        _health(protection)
        _delete(admin, [new.topic])
    with protection.cluster("east", "admin") as admin:
        admin.topics.create(new.topic, partitions=1, replication_factor=1, config={})
        admin.writing.append([NewRecord(new, b"k", b"v")])

    with protection.cluster("west", "admin") as admin:
        eventually(lambda: new.topic in admin.topics.names() and admin.topics.high_watermarks([new])[new] > 0)
        assert "another topic" not in _said(_health(protection))

        # What was copied since is known, and its loss is named.
        _delete(admin, [new.topic])
        admin.topics.create(new.topic, partitions=1, replication_factor=1, config={})
        eventually(lambda: new.topic in admin.topics.names())
    assert f"{new.topic} (since" in _said(_health(protection))


def _make_again(protection: Protection, cluster: str) -> None:
    with protection.cluster(cluster, "admin") as admin:
        _delete(admin, [protection.topic])
        admin.topics.create(protection.topic, partitions=protection.partitions, replication_factor=1, config={})
        eventually(lambda: protection.topic in admin.topics.names())


def _delete(admin: KafkaCluster, names: list[str]) -> None:
    admin.topics.delete(names)
    eventually(lambda: not set(names) & set(admin.topics.names()))


def _refused(protection: Protection, step: StepName) -> str:
    with protection.clients() as clients, pytest.raises(KafkaDrError) as refused:
        run_step(step, protection.request("planned"), clients)
    return str(refused.value)


def _health(protection: Protection) -> WatchResult:
    with protection.clients() as clients:
        return check_health(protection.name, clients)


def _said(watched: WatchResult) -> str:
    return "\n".join(watched.sentences)

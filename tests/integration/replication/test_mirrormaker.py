"""A real connector on a real Connect cluster: set up, placed, run, stopped, fenced."""

from __future__ import annotations

from contextlib import suppress

import httpx
import pytest

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.errors import OutcomeUnknown, Refused
from kafka_dr.replication.connect import ConnectorNotFound, ConnectRefused, SourceOffset
from kafka_dr.replication.moving import data_ends, flow_moves
from lab import rights
from support.plain_flow import PlainFlow

pytestmark = pytest.mark.kafka


def test_a_flow_is_created_stopped_and_says_so(flowing: PlainFlow) -> None:
    replicator = flowing.replicator
    assert replicator.status().state == "absent"
    assert replicator.ensure(stopped=True) == "created"
    status = replicator.wait_stopped(30)
    assert (status.state, status.tasks) == ("stopped", 0)
    assert replicator.ensure(stopped=True) == "unchanged"
    assert replicator.where().seed_epoch is None


def test_a_copy_is_the_same_record_for_record_and_nothing_aborted_is_in_it(flowing: PlainFlow) -> None:
    flowing.write(60)
    flowing.write_in_transactions(9)
    flowing.start()
    flowing.wait_copied()
    for partition in flowing.partitions:
        source = [content for _, content in flowing.log("east", partition)]
        assert source == [content for _, content in flowing.log("west", partition)]
        assert len(source) == 30 + 1 + 6


def test_a_seed_replaces_every_position_and_carries_its_epoch(flowing: PlainFlow) -> None:
    flowing.write(20)
    flowing.start()
    flowing.wait_copied()
    flowing.stop()
    one, two = flowing.partitions
    assert set(flowing.replicator.positions()) >= {one, two}
    flowing.replicator.seed({one: 7, two: 0}, epoch=5)
    where = flowing.replicator.where()
    assert (where.next_to_read, where.seed_epoch) == ({one: 7}, 5)
    flowing.replicator.resume()
    flowing.replicator.wait_running(30)
    flowing.wait_copied()
    # From 7 on once more, and all of the partition that was to begin at its start.
    assert len(flowing.log("west", one)) == 11 + 4
    assert len(flowing.log("west", two)) == 11 + 11
    assert flowing.replicator.where().seed_epoch == 5


def test_a_flow_that_was_stopped_again_before_it_ever_ran_is_removed_while_nothing_is_there_to_copy(
    flowing: PlainFlow,
) -> None:
    """What a drill leaves that died before its topics were made: no task would ever start."""
    replicator = flowing.connector
    replicator.ensure(stopped=True)
    replicator.wait_stopped(30)
    for _ in range(2):
        replicator.seed(dict.fromkeys(flowing.partitions, 7), epoch=1)
        with suppress(OutcomeUnknown):
            replicator.stop()
            replicator.wait_stopped(30)
            replicator.connect.forget_offsets(flowing.flow.name)
            continue
        break
    else:
        raise AssertionError("Connect can do it now: the way around it can go")
    with flowing.protection.cluster(flowing.active, "admin") as admin:
        admin.topics.delete([partition.topic for partition in flowing.copied_partitions])
    replicator.remove(forget=True)
    assert replicator.status().state == "absent"


def test_a_flow_is_seeded_although_connect_could_not_commit_its_transaction_once(flowing: PlainFlow) -> None:
    """What brokers answer it in the middle of a transaction: here a right that its login lacks for a moment."""
    connector, answers = flowing.connector, []
    connector.ensure(stopped=True)
    connector.wait_stopped(30)
    refused = Acl(
        ResourceType.TRANSACTIONAL_ID,
        connector.transactional_ids()[0],
        PatternType.LITERAL,
        f"User:{rights.REPLICATOR}",
        AclOperation.WRITE,
        AclPermission.DENY,
    )
    with flowing.protection.cluster("west", "admin") as admin:

        def given_back(answer: httpx.Response) -> None:
            if answer.request.method == "PATCH":
                answers.append(answer.status_code)
                admin.acls.remove([refused])

        connector.connect._http.event_hooks["response"].append(given_back)
        admin.acls.add([refused])
        connector.seed({flowing.partitions[0]: 7}, epoch=5)
    assert answers == [500, 200]
    assert (connector.where().next_to_read, connector.where().seed_epoch) == ({flowing.partitions[0]: 7}, 5)


def test_a_running_flow_is_not_placed(flowing: PlainFlow) -> None:
    flowing.start()
    with pytest.raises(Refused, match="stop it first"):
        flowing.replicator.seed({}, epoch=2)
    assert flowing.replicator.where().seed_epoch == 1


def test_a_flow_stops_in_time_and_keeps_its_position(flowing: PlainFlow) -> None:
    flowing.write(20)
    flowing.start()
    flowing.wait_copied()
    before = flowing.replicator.positions()
    flowing.stop()
    assert flowing.replicator.positions() == before


def test_a_changed_topology_updates_the_connector_and_leaves_it_stopped(flowing: PlainFlow) -> None:
    flowing.replicator.ensure(stopped=True)
    flowing.replicator.wait_stopped(30)
    connect, name = flowing.connector.connect, flowing.flow.name
    connect.update(name, {**flowing.connector.config(), "offset.lag.max": "7"})
    assert flowing.replicator.ensure(stopped=True) == "updated"
    assert flowing.replicator.wait_stopped(30).state == "stopped"
    assert connect.config(name) == flowing.connector.config()


def test_whoever_takes_its_transactional_ids_over_ends_the_flow(flowing: PlainFlow) -> None:
    flowing.write(20)
    flowing.start()
    flowing.wait_copied()
    flowing.clients.cluster("west", "operator").transactions.take_over(flowing.replicator.transactional_ids())
    flowing.write(20)
    assert flowing.connector.connect.wait_for(flowing.flow.name, "failed", deadline_seconds=30).tasks
    assert all(len(flowing.log("west", partition)) == 11 for partition in flowing.partitions)
    flowing.replicator.stop()
    assert flowing.replicator.wait_stopped(30).state == "stopped", "a failed one is stopped, too, not only let be"


def test_a_flow_that_runs_is_seen_to_move_and_one_that_is_stopped_to_be_stuck(flowing: PlainFlow) -> None:
    source = flowing.audit("east")
    flowing.start()
    flowing.write_in_transactions(4)
    flowing.wait_copied()
    rest = flowing.replicator.positions()
    ends = data_ends(source, rest, source.topics.last_stable_offsets(flowing.partitions))
    assert flow_moves(rest, flowing.replicator.positions(), ends).verdict == "idle"
    flowing.write(10)
    ends = data_ends(source, rest, source.topics.last_stable_offsets(flowing.partitions))
    flowing.wait_copied()
    assert flow_moves(rest, flowing.replicator.positions(), ends).verdict == "moves"
    flowing.stop()
    flowing.write(10)
    stopped = flowing.replicator.positions()
    ends = data_ends(source, stopped, source.topics.last_stable_offsets(flowing.partitions))
    assert flow_moves(stopped, flowing.replicator.positions(), ends).verdict == "stuck"


def test_what_connect_will_not_do_is_refused_with_its_reason(flowing: PlainFlow) -> None:
    connect, name = flowing.connector.connect, flowing.flow.name
    with pytest.raises(ConnectorNotFound):
        connect.offsets(name)
    with pytest.raises(ConnectRefused, match=r"connector\.class|Connector config"):
        connect.create(name, {"name": name})
    flowing.start()
    with pytest.raises(ConnectRefused, match="already exists"):
        connect.create(name, flowing.connector.config())
    entry = SourceOffset({"cluster": "east", "topic": "t", "partition": 0}, {"offset": 1})
    with pytest.raises(ConnectRefused, match="STOPPED"):
        connect.set_offsets(name, [entry])
    connect.delete(name)
    connect.delete(name)
    assert name not in connect.connectors()


def test_secrets_do_not_come_out_of_connect(flowing: PlainFlow) -> None:
    flowing.replicator.ensure(stopped=True)
    password = flowing.protection.lab.client_settings("west", "replicator")["sasl.password"]
    config = flowing.connector.connect.config(flowing.flow.name)
    assert config is not None
    assert password not in str(config)
    assert config["target.cluster.sasl.jaas.config"].startswith("${file:")

"""A consumer group runs on one member at a time, and continues on another one in each log at the exact record."""

from __future__ import annotations

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.clusters.read_permission import ReadVerdict
from kafka_dr.group_offsets.sync_archive import archive_syncs
from kafka_dr.health.health_check import check_health
from kafka_dr.runs.request import StepName
from kafka_dr.watch.canary_check import watch_canary
from lab import rights
from support import outside_view
from support.disaster import Disaster, disaster_is_over
from support.members import Members
from support.switched_group import SwitchedGroup

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]


def test_it_moves_with_the_clients_of_its_member_and_is_frozen_wherever_it_does_not_run(members: Members) -> None:
    east, west = members["east"], members["west"]
    readers = f"{east.name}-moves"
    east.write("east", (f"e{n}".encode() for n in range(60)))
    west.write("west", (f"w{n}".encode() for n in range(40)))
    members.wait_copied()
    assert (may_read(members, "east", readers), may_read(members, "west", readers)) == (True, False)
    for source, target, step in (("east", "west", 7), ("west", "east", 12)):
        at = read_up_to(members, source, readers, step)
        before = unread(members, source, at)
        assert east.move()[StepName.REPORT].good
        moved = outside_view.committed(east.protection, target)[readers]
        assert unread(members, target, moved) == before
        assert (may_read(members, target, readers), may_read(members, source, readers)) == (True, False)
        members.flows()
        members.check_health()
        assert (may_read(members, target, readers), may_read(members, source, readers)) == (True, False)
        east.write(target, (f"on {target} {n}".encode() for n in range(10)))
        members.wait_copied()


def test_a_group_moves_alone_while_the_clients_of_all_members_continue_where_they_are(members: Members) -> None:
    east, west = members["east"], members["west"]
    stock = members.move_alone("stock", "west")
    readers = f"{stock.name}-moves"
    east.write("east", (f"e{n}".encode() for n in range(60)))
    west.write("west", (f"w{n}".encode() for n in range(40)))
    members.wait_copied()
    for source, target, step in (("west", "east", 7), ("east", "west", 12)):
        assert (may_read(members, source, readers), may_read(members, target, readers)) == (True, False)
        before = unread(members, source, read_up_to(members, source, readers, step))
        assert stock.move()[StepName.REPORT].good
        assert unread(members, target, outside_view.committed(stock.protection, target)[readers]) == before
        for each in (*members.values(), stock):
            with each.protection.clients() as clients:
                assert check_health(each.name, clients).outcome == "ok"
        assert (may_read(members, source, readers), may_read(members, target, readers)) == (False, True)
        assert (east.active, west.active) == ("east", "west")
        assert not members.refused("east")
        assert not members.refused("west")


def test_if_its_member_is_lost_it_reads_again_only_what_no_offset_sync_shows_to_be_read(members: Members) -> None:
    east, west = members["east"], members["west"]
    readers = f"{east.name}-moves"
    east.write("east", (f"e{n}".encode() for n in range(40)))
    west.write("west", (f"w{n}".encode() for n in range(600)))
    members.wait_copied()
    at = read_up_to(members, "east", readers, 280)
    before = unread(members, "east", at)
    with east.protection.clients() as clients:
        watch_canary(east.name, clients)
        assert archive_syncs(east.name, clients).outcome == "ok"
    disaster = Disaster.of(SwitchedGroup(east.protection))
    try:
        east.protection.lab.kill(disaster.broker)
        disaster.go(StepName.REPORT)
    finally:
        disaster_is_over(disaster)
    moved = outside_view.committed(east.protection, "west")[readers]
    continues = unread(members, "west", moved)
    assert {p: value for p, value in continues.items() if p.startswith("east")} == {
        p: value for p, value in before.items() if p.startswith("east")
    }
    for number in range(2):
        values = east.values("west", west.local(number))
        known = before[f"west-{number}"]
        again = values.index(known) - values.index(continues[f"west-{number}"])
        assert 0 <= again <= 120, "at most what was copied between two syncs"


def read_up_to(members: Members, cluster: str, group: str, step: int) -> dict[TopicPartition, int]:
    """Let a group commit a different offset in each log of payments on a cluster."""
    east = members["east"]
    at = {p: step + 3 * n for n, p in enumerate(sorted(logs(members, cluster).values()))}
    east.protection.commit(cluster, group, at)
    return at


def logs(members: Members, cluster: str) -> dict[str, TopicPartition]:
    return {f"{origin}-{n}": members.log(n, origin, cluster) for origin in members for n in range(2)}


def unread(members: Members, cluster: str, offsets: dict[TopicPartition, int]) -> dict[str, bytes | None]:
    """Return the record that comes next in each log, by its origin and partition; ``None`` at its end."""
    found = members["east"].unread(cluster, offsets)
    return {name: found[p] for name, p in logs(members, cluster).items()}


def may_read(members: Members, cluster: str, group: str) -> bool:
    """Return whether the applications may read as a group on a cluster, by its coordinator's answer."""
    protection = members["east"].protection
    with protection.cluster(cluster, rights.ORDERS_APP) as client, protection.cluster(cluster, "admin") as admin:
        (answer,) = client.read_permission.ask([group], seen_by=admin.group_coordinators).values()
        assert answer is not ReadVerdict.UNKNOWN
        return answer is ReadVerdict.ALLOWED

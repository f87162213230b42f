"""A cluster is added where copies have other names, and taken away: each record is once in each log."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.adoption.adopt import adopt
from kafka_dr.health.health_check import check_health
from kafka_dr.runs.request import StepName
from lab import rights
from support import outside_view
from support.members import Members, members_of
from support.named_group import NamedGroup, named_protection
from support.steady_writer import writing
from support.three_clusters import GroupOfThree
from support.waiting import eventually

if TYPE_CHECKING:
    from lab.api import Lab

pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(900)]


def healthy(members: Members) -> None:
    for group in members.values():
        with group.protection.clients() as clients:
            found = check_health(group.name, clients)
        assert found.outcome == "ok", found


def test_a_member_is_added_while_clients_write_can_take_over_and_leaves(three: Lab, tmp_path: Path) -> None:
    with members_of(three, tmp_path, members=("east", "west")) as members:
        east = members["east"]
        for name, group in members.items():
            group.write(name, (f"{name}{n}".encode() for n in range(40)))
        members.wait_copied()
        with writing(east.protection) as writer:
            members.grow("north")
        members["north"].write("north", (f"north{n}".encode() for n in range(40)))
        members.wait_copied()
        for cluster in members:
            for origin in members:
                values = members.values_of(cluster, members.log(0, origin, cluster).topic)
                expected = 40 + (writer.acknowledged if origin == "east" else 0)
                assert len(values) == len(set(values)) == expected, (cluster, origin)
        members.check_health()

        assert east.move(east.request_to("north"))[StepName.REPORT].good
        assert members.refused("east")
        assert not members.refused("north")
        back = east.move(east.request_to("east"))
        assert back[StepName.REPORT].good
        healthy(members)

        GroupOfThree(members["north"].protection).release()
        members["north"].protection.delete_flows()
        with writing(east.protection) as writer:
            members.shrink("north")
        members.wait_copied()
        healthy(members)
        with east.protection.cluster("north", "admin") as admin:
            assert not [acl for acl in admin.acls.list() if acl.permission == "DENY" and members.block in acl.name]
        assert east.move(east.request_to("west"))[StepName.REPORT].good


def test_a_pair_with_other_names_gets_a_third_cluster_that_takes_over_and_leaves(three: Lab, tmp_path: Path) -> None:
    pair, all_three = ("east", "west"), ("east", "west", "north")
    with named_protection(three, tmp_path) as protection:
        protection.changes["clusters"] = pair
        named, group = NamedGroup(protection), GroupOfThree.adopt_as(protection)
        named.write("east", (f"e{n}".encode() for n in range(60)))
        for ends in (pair, pair[::-1]):
            group.move(*ends)  # each failover raises the epoch, and seeds nothing where copies have other names
        protection.changes["clusters"] = all_three
        with protection.clients() as clients:
            assert adopt(group.name, clients, "grow").outcome == "done"
        eventually(lambda: group.flows().outcome == "ok" and group.roles["north"] == "copy", seconds=60)
        assert group.flow_status("east", "west").startswith("running"), "it continues where it was"
        copies = [named.log(number, "east", "north") for number in range(2)]
        eventually(lambda: len(named.values("north", *copies)) == 60, seconds=60)
        assert group.flow_status("north", "west").startswith("running"), "applications may write on north one day"
        for who in (rights.PROBE, rights.ORDERS_APP):
            assert named.refused("north", who, copies[0]), "nobody but replication writes to a copy"

        group.move("east", "north")
        named.write("north", (f"n{n}".encode() for n in range(20)))
        group.move("north", "west")
        assert {"done"} == {record.outcome for record in group.leave("north").values()}
        assert group.roles == {"east": "copy", "west": "active"}
        assert not outside_view.denies(protection, "north")
        assert {group.flow_status(*ends) for ends in permutations(all_three, 2) if "north" in ends} == {"absent"}
        protection.changes["clusters"] = pair
        for cluster in pair:
            held = [named.log(number, "north", cluster) for number in range(2)]
            assert len(named.values(cluster, *held)) == 20, "what was copied from it stays"
        with protection.clients() as clients:
            found = check_health(group.name, clients)
        assert found.outcome == "ok", found
        group.move("west", "east")

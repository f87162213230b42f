"""A block gets one more member while clients write, and loses it again: each record is once in each log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.health.health_check import check_health
from kafka_dr.runs.request import StepName
from support.members import Members, members_of
from support.steady_writer import writing
from support.three_clusters import GroupOfThree

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

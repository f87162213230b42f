"""Five members take writes together: twenty flows, and each record once in each log of each origin."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.runs.request import StepName
from support.members import Members, members_of

if TYPE_CHECKING:
    from lab.api import Lab

#: Ten brokers and workers share the machine with their flows.
pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(1800)]
FIVE = ("east", "west", "north", "south", "central")


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory, own_port_base: int) -> Iterator[Lab]:
    from support.clusters_of_their_own import clusters_of_their_own

    with clusters_of_their_own(tmp_path_factory.mktemp("five"), own_port_base, len(FIVE)) as lab:
        yield lab


def test_each_record_is_once_in_each_log_and_clients_move_from_member_to_member(five: Lab, tmp_path: Path) -> None:
    with members_of(five, tmp_path) as members:
        names = tuple(members)
        assert len(names) == len(FIVE)
        assert set(members.ends) == set(permutations(names, 2))
        first = members[names[0]]
        for name, group in members.items():
            group.write(name, (f"{name}{n}".encode() for n in range(30)))
        members.wait_copied()
        each_once(members, dict.fromkeys(names, 30))
        members.check_health()

        assert first.move(first.request_to(names[3]))[StepName.REPORT].good
        assert members.refused(names[0])
        first.write(names[3], (f"moved{n}".encode() for n in range(10)))
        members.wait_copied()
        each_once(members, {**dict.fromkeys(names, 30), names[3]: 40})
        assert first.move(first.request_to(names[0]))[StepName.REPORT].good
        assert not members.refused(names[0])
        members.check_health()


def each_once(members: Members, written: dict[str, int]) -> None:
    for cluster in members:
        for origin, count in written.items():
            values = members.values_of(cluster, members.log(0, origin, cluster).topic)
            assert len(values) == len(set(values)) == count, (cluster, origin)

"""Two clusters take writes under names of their own, ``NYC.users`` and ``SF.users``: two groups, in both directions.

Copies have the names of their originals. So a cluster that serves both writes each under its own name, and who reads
all names on a cluster sees everything there, whoever serves it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafka_dr.health.health_check import check_health
from kafka_dr.runs.request import StepName
from lab import rights
from lab.api import Lab
from support.named_group import NamedGroup
from support.protection import Protection

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]


@dataclass(frozen=True)
class Namespaces:
    """The clients of two clusters, each with a name of its own."""

    nyc: NamedGroup
    sf: NamedGroup

    def written(self, group: NamedGroup, cluster: str) -> Counter[bytes | None]:
        return Counter(group.values(cluster, group.local(0), group.local(1)))

    def wait_equal(self) -> None:
        for group in (self.nyc, self.sf):
            group.protection.wait_copied(source=group.active, target=group.standby)


@pytest.fixture
def both(lab: Lab, tmp_path: Path) -> Iterator[Namespaces]:
    groups = [Protection(lab, tmp_path / "nyc"), Protection(lab, tmp_path / "sf", changes={"initial_active": "west"})]
    try:
        yield Namespaces(*map(NamedGroup.adopt, groups))
    finally:
        for each in groups:
            each.delete_flows()


def test_clients_of_one_namespace_move_next_to_those_of_the_other_and_back(both: Namespaces) -> None:
    nyc, sf = both.nyc, both.sf
    assert (nyc.active, sf.active) == ("east", "west")
    assert nyc.refused("west", rights.ORDERS_APP, nyc.local(0)), "who writes under a name is on one cluster"
    nyc.write("east", (f"nyc{n}".encode() for n in range(60)))
    sf.write("west", (f"sf{n}".encode() for n in range(40)))

    assert nyc.move()[StepName.REPORT].good
    assert (nyc.active, sf.active) == ("west", "west")
    for group, value in ((nyc, b"nyc on west"), (sf, b"sf on west")):
        assert not group.refused("west", rights.ORDERS_APP, group.local(0))
        assert group.refused("east", rights.ORDERS_APP, group.local(0))
        group.write("west", [value])
    nyc.flows()
    assert nyc.move()[StepName.REPORT].good
    nyc.flows()
    nyc.write("east", [b"nyc is back"])
    both.wait_equal()
    for group, count in ((nyc, 62), (sf, 41)):
        east, west = (both.written(group, cluster) for cluster in ("east", "west"))
        assert east == west
        assert (len(east), set(east.values())) == (count, {1}), "each record once, under its own name"
        with group.protection.clients() as clients:
            assert check_health(group.name, clients).outcome == "ok"

"""Controllers that are no brokers: no metadata says where they are, so what is not declared is unknown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.stretched import PREFIX, Stretched
from support.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]


@pytest.fixture
def apart(tmp_path: Path, own_port_base: int) -> Iterator[Stretched]:
    """A cluster whose nodes 1, 2 and 3 are brokers, and 4, 5 and 6 controllers, one of each in each site."""
    made = Stretched.prepare(tmp_path / "home", port_base=own_port_base + 400, controllers_apart=True)
    try:
        made.start()
        yield made
    finally:
        made.cluster.stop(delete=True)


def test_a_controller_is_where_the_topology_says_and_nowhere_else(apart: Stretched, tmp_path: Path) -> None:
    apart.create(f"{PREFIX}seen", (1, 2, 3))
    unknown = apart.looked(tmp_path)
    assert (unknown["exit_code"], [row["quorum"] for row in unknown["sites"]]) == (3, ["unknown"] * 3)
    assert "of controller 4, 5, 6 no site is known" in " ".join(each["sentence"] for each in unknown["findings"])

    declared = apart.looked(tmp_path, controllers={"site-a": [4], "site-b": [5], "site-c": [6]})
    assert (declared["exit_code"], [row["controllers"] for row in declared["sites"]]) == (0, [[4], [5], [6]])
    gathered = apart.looked(tmp_path, controllers={"site-a": [4, 5], "site-c": [6]})
    assert gathered["exit_code"] == 1
    assert gathered["if_lost"]["site-a"]["quorum"] == "stops"
    assert gathered["sentence"].startswith("If site-a is lost: the quorum stops")

    apart.cluster.supervisor.kill("east-broker-6")

    def is_late() -> bool:
        seen = apart.looked(tmp_path, controllers={"site-a": [4], "site-b": [5], "site-c": [6]})
        named = any("controller 6 does not keep up" in each["sentence"] for each in seen["findings"])
        quorum = [row["quorum"] for row in seen["sites"]]
        return named and (seen["exit_code"], quorum) == (1, ["unknown", "unknown", "lives"])

    eventually(is_late)

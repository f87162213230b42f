"""After a release nothing of this project is on the clusters but what the page about leaving names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_dr.runs.request import StepName
from support import outside_view
from support.protection import Protection
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka
PAGE = Path(__file__).parents[3] / "include" / "guide" / "leaving.md"
_ROW = re.compile(r"^\| topic `([^`]+)` \|", re.MULTILINE)
#: What flows between the two clusters share, whatever it is used for.
_SHARED = re.compile(r"_kafka_dr\..*|mm2-[a-z-]+\.(?:east|west)\.internal|(?:east|west)\.checkpoints\.internal")


def named(protection: Protection) -> Iterator[str]:
    """Yield the topics that the page names for a group."""
    for name in _ROW.findall(PAGE.read_text()):
        for source in ("east", "west"):
            yield name.replace("GROUP", protection.name).replace("SOURCE", source)


def of_this_project(protection: Protection, cluster: str) -> frozenset[str]:
    """Return the topics on a cluster that neither an application nor Connect has made."""
    group = protection.group
    with protection.cluster(cluster, "admin") as admin:
        found = admin.topics.names()
    applications = {name for name in found if group.owns_topic(name) and name != group.canary_topic}
    return frozenset(name for name in found if protection.name in name or _SHARED.fullmatch(name)) - applications


def test_a_group_that_was_moved_and_released_leaves_what_the_page_names(protection: Protection) -> None:
    group = SwitchedGroup.adopt(protection)
    group.go(StepName.REPORT)
    request = group.request(verb="un_adopt", hand_back_to="own_flow")
    protection.release(request)
    for cluster in ("east", "west"):
        found = of_this_project(protection, cluster)
        assert protection.group.canary_topic in found
        assert found - {*named(protection)} == set()
        assert not outside_view.denies(protection, cluster)
        with protection.cluster(cluster, "admin") as admin:
            assert [name for name in admin.groups.names() if "kafka-dr" in name or "kafka_dr" in name] == []
    assert outside_view.connectors(protection).keys() == {
        f"dr.{group.name}.east-to-west",
        f"dr.{group.name}.west-to-east",
    }

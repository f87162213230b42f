"""A lab of clusters used together: each has clients of its own, with a route, a canary topic and rights."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_dr.clusters.model import AclOperation, ResourceType
from kafka_dr.topology.loading import load
from lab import topology_file
from lab.allowed import allowed_in
from lab.clusters import clients_of, clusters_of, topics_of
from lab.errors import LabError
from lab.layout import NAMES, Home, Settings, chosen_settings
from lab.traffic.fleet import MOVES, fleet
from lab.traffic.rates import Rates
from support.route_file import route_file


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def settings(home: Home) -> Settings:
    made = chosen_settings(home, port_base=None, brokers=None, clusters=3, block="active_active")
    topology_file.write(home, made)
    return made


def test_its_topology_declares_the_clients_of_each_member(home: Home, settings: Settings) -> None:
    environ = {f"KAFKA_DR_LAB_{name.upper()}": f"{name}:9092" for name in NAMES}
    environ |= {"KAFKA_DR_LAB_HOME": str(home.root), "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3"}
    declared = load(topology_file.path(home, settings), environ)
    groups = declared.protection_groups
    assert set(groups) == {clients_of(name) for name in settings.names}
    for name in settings.names:
        group = groups[clients_of(name)]
        assert str(route_file(group)) == str(home.route_of(clients_of(name)))
        assert group.canary_topic in {topic.name for topic in topics_of(settings)}
        jobs = [fleet(Rates(), role="member", suffix=f"-{each}").values() for each in settings.names]
        readers = {job.group for of_one in jobs for job in of_one if job.group}
        assert readers == {*group.readers.consumer_groups, *group.consumer_groups}
        assert group.consumer_groups == (f"{MOVES}-{name}",)


def test_a_lab_of_hubs_copies_to_hubs_alone_and_its_clients_write_or_read(home: Home) -> None:
    made = chosen_settings(home, port_base=None, brokers=None, clusters=4, block="hub_and_spoke")
    topology_file.write(home, made)
    environ = {f"KAFKA_DR_LAB_{name.upper()}": f"{name}:9092" for name in NAMES}
    environ |= {"KAFKA_DR_LAB_HOME": str(home.root), "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3"}
    groups = load(topology_file.path(home, made), environ).protection_groups
    flows = {(name, other) for name in made.names for other in groups[clients_of(name)].clusters if other != name}
    assert flows == set(made.flows)
    assert {target for _, target in flows} == set(made.hubs) == made.connect
    for name in made.names:
        jobs = fleet(Rates(), role=made.role(name), suffix=f"-{name}").values()
        assert any(job.writes for job in jobs) is (name not in made.hubs)
        moves = {job.group for job in jobs} & set(groups[clients_of(name)].consumer_groups)
        assert moves == ({f"{MOVES}-{name}"} if name in made.hubs else set())


def test_the_probe_may_write_to_the_canary_topic_of_each_member(home: Home, settings: Settings) -> None:
    for cluster in clusters_of(settings):
        may_write = {
            acl.name
            for acl in allowed_in(home, settings, cluster)
            if (acl.principal, acl.resource, acl.operation) == ("User:probe", ResourceType.TOPIC, AclOperation.WRITE)
        }
        assert {f"{clients_of(name)}.dr-canary" for name in settings.names} <= may_write


def test_a_lab_keeps_its_pattern(home: Home, settings: Settings) -> None:
    settings.write(home)
    assert chosen_settings(home, port_base=None, brokers=None) == settings
    with pytest.raises(LabError, match="down --delete"):
        chosen_settings(home, port_base=None, brokers=None, block="hub_and_spoke")

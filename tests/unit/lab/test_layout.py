from __future__ import annotations

from pathlib import Path

import pytest

from lab.clusters import EAST, WEST, cluster_named
from lab.errors import LabError
from lab.layout import Home, Ports, Settings, chosen_settings


def test_no_two_listeners_share_a_port_with_the_most_brokers() -> None:
    settings = Settings(port_base=19000, brokers=5)
    ports = [settings.ports.airflow]
    for cluster in (EAST, WEST):
        ports.append(cluster.connect_port(settings.ports))
        for node in cluster.nodes(settings):
            ports += [node.client_port, node.internal_port, node.controller_port]
    assert len(set(ports)) == len(ports)
    assert all(19000 <= port < 19300 for port in ports)


@pytest.mark.parametrize("base", [0, 80, 65300, -1])
def test_a_base_without_room_for_all_ports_is_refused(base: int) -> None:
    with pytest.raises(LabError, match=f"--port-base is {base}"):
        Ports(base)


@pytest.mark.parametrize("brokers", [0, 6])
def test_a_number_of_brokers_without_ports_is_refused(brokers: int) -> None:
    with pytest.raises(LabError, match=f"--brokers is {brokers}"):
        Settings(port_base=19000, brokers=brokers)


@pytest.mark.parametrize(("brokers", "voters"), [(1, 1), (2, 1), (3, 3), (5, 3)])
def test_a_quorum_never_has_two_voters(brokers: int, voters: int) -> None:
    assert len(EAST.voters(Settings(port_base=19000, brokers=brokers))) == voters


def test_a_lab_keeps_what_it_was_made_with(tmp_path: Path) -> None:
    home = Home(tmp_path)
    Settings(port_base=23000, brokers=2).write(home)
    assert chosen_settings(home, port_base=None, brokers=None) == Settings(port_base=23000, brokers=2)
    assert chosen_settings(home, port_base=24000, brokers=2) == Settings(port_base=24000, brokers=2)


def test_another_number_of_brokers_is_refused_with_the_way_out(tmp_path: Path) -> None:
    home = Home(tmp_path)
    Settings(port_base=23000, brokers=2).write(home)
    with pytest.raises(LabError, match=r"made with 2 broker\(s\) a cluster, not 1: run `down --delete` first"):
        chosen_settings(home, port_base=None, brokers=1)


@pytest.mark.parametrize("content", ["{", "[]", '{"port_base": "x", "brokers": 1}', "{}"])
def test_settings_that_cannot_be_read_are_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "lab.json").write_text(content)
    with pytest.raises(LabError, match=r"lab\.json is not readable"):
        chosen_settings(Home(tmp_path), port_base=None, brokers=None)


def test_deleting_removes_what_the_lab_made_and_nothing_else(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    Settings(port_base=23000, brokers=1).write(home)
    home.client("east", "probe").parent.mkdir(parents=True)
    home.broker("east-broker-1").mkdir(parents=True)
    (home.root / "thesis.txt").write_text("years of work")

    home.delete()

    assert [path.name for path in home.root.iterdir()] == ["thesis.txt"]


def test_deleting_removes_an_empty_folder(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    Settings(port_base=23000, brokers=1).write(home)
    home.delete()
    assert not home.root.exists()


def test_a_cluster_that_is_not_there_is_named() -> None:
    with pytest.raises(LabError, match="no cluster 'north'"):
        cluster_named("north")

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafka_dr.topology.loading import load
from lab import topology_file
from lab.api import Lab
from lab.clusters import EAST, clusters_of
from lab.errors import LabError
from lab.layout import PROJECT, Home, Ports, Settings, chosen_settings


@pytest.mark.parametrize(("clusters", "end"), [(2, 19300), (3, 19400), (5, 19600)])
def test_no_two_listeners_share_a_port_with_the_most_brokers(clusters: int, end: int) -> None:
    settings = Settings(port_base=19000, brokers=5, clusters=clusters)
    ports = [
        settings.ports.airflow,
        settings.ports.vantage,
        settings.ports.proxy,
        *(settings.ports.spark_worker(number) + page for number in range(3) for page in (0, 1)),
    ]
    for cluster in clusters_of(settings):
        ports += [cluster.connect_port(settings.ports), settings.ports.outside_connect(cluster.number)]
        for node in cluster.nodes(settings):
            ports += [node.client_port, node.internal_port, node.controller_port, node.outside_port, node.proxy_port]
    assert len(set(ports)) == len(ports)
    assert all(19000 <= port < end for port in ports)
    assert settings.ports.span == end - 19000


@pytest.mark.parametrize("base", [0, 80, 65300, -1])
def test_a_base_without_room_for_all_ports_is_refused(base: int) -> None:
    with pytest.raises(LabError, match=f"--port-base is {base}"):
        Ports(base)


@pytest.mark.parametrize("clusters", [1, 6])
def test_a_number_of_clusters_without_names_is_refused(clusters: int) -> None:
    with pytest.raises(LabError, match=f"--clusters is {clusters}, and must be between 2 and 5"):
        Settings(port_base=19000, brokers=1, clusters=clusters)


def test_unless_chosen_flows_lead_from_each_cluster_to_each_other_one() -> None:
    there, back = ("east", "west"), ("west", "east")
    assert Settings(port_base=19000, brokers=1).flows == (there, back)
    more = (("east", "north"), ("north", "east"), ("west", "north"), ("north", "west"))
    assert set(Settings(port_base=19000, brokers=1, clusters=3).flows) == {there, back, *more}
    assert Settings(port_base=19000, brokers=1, clusters=3, chosen_flows=more).flows == more


@pytest.mark.parametrize("flow", [("east", "north"), ("east", "east")])
def test_a_flow_between_clusters_that_are_not_there_is_refused(flow: tuple[str, str]) -> None:
    with pytest.raises(LabError, match=f"a flow from east to {flow[1]} needs two clusters of east, west"):
        Settings(port_base=19000, brokers=1, chosen_flows=(flow,))


@pytest.mark.parametrize("brokers", [0, 7])
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
    three = Settings(port_base=23000, brokers=2, clusters=3, chosen_flows=(("west", "north"),))
    three.write(home)
    assert chosen_settings(home, port_base=None, brokers=None) == three
    assert chosen_settings(home, port_base=None, brokers=None, clusters=3, flows=three.flows) == three
    named = chosen_settings(Home(tmp_path / "named"), port_base=None, brokers=None, naming="default", proxied=True)
    named.write(home)
    assert chosen_settings(home, port_base=None, brokers=None) == named


def test_another_number_of_brokers_is_refused_with_the_way_out(tmp_path: Path) -> None:
    home = Home(tmp_path)
    Settings(port_base=23000, brokers=2).write(home)
    with pytest.raises(LabError, match=r"made with 2 broker\(s\) a cluster, not 1: run `down --delete` first"):
        chosen_settings(home, port_base=None, brokers=1)


def test_other_clusters_or_flows_than_the_lab_was_made_with_are_refused_with_the_way_out(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.settings.write_text('{"port_base": 23000, "brokers": 1}')  # of a lab that was made before there could be three
    assert chosen_settings(home, port_base=None, brokers=None, clusters=2).clusters == 2
    with pytest.raises(LabError, match="was made with 2 clusters, not 3: run `down --delete` first, or choose another"):
        chosen_settings(home, port_base=None, brokers=None, clusters=3)
    with pytest.raises(LabError, match="was made with identity naming of copies, not default: run `down --delete`"):
        chosen_settings(home, port_base=None, brokers=None, naming="default")
    with pytest.raises(LabError, match="was made with no proxy, not a proxy: run `down --delete`"):
        chosen_settings(home, port_base=None, brokers=None, proxied=True)
    with pytest.raises(LabError, match="made with the flows east → west, west → east, not east → west: run"):
        chosen_settings(home, port_base=None, brokers=None, flows=(("east", "west"),))


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
    declared = (PROJECT / "include" / "topology.yaml").read_text()
    written = {home.root / name for name in re.findall(r"\$\{KAFKA_DR_LAB_HOME\}/([\w.-]+)", declared)}
    assert {"notifications.html", "evidence", "route"} <= {each.name for each in written}
    for each in written:
        each.mkdir() if not each.suffix else each.touch()
    (home.root / "thesis.txt").write_text("years of work")

    home.delete()

    assert [path.name for path in home.root.iterdir()] == ["thesis.txt"]


def test_deleting_removes_an_empty_folder(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    Settings(port_base=23000, brokers=1).write(home)
    home.delete()
    assert not home.root.exists()


def test_the_topology_of_a_lab_declares_each_of_its_clusters(tmp_path: Path) -> None:
    lab = Lab(tmp_path, clusters=5, environ={})
    topology_file.write(lab.home, lab.settings)
    found = load(Path(lab.environ["KAFKA_DR_TOPOLOGY"]), lab.environ)
    assert {name: each.cluster_id for name, each in found.clusters.items()} == {
        each.name: each.cluster_id for each in lab.clusters
    }
    south = found.clusters["south"]
    assert (south.connect, south.connections.audit) == ("connect_south", "kafka_south_audit")
    assert south.replicator.bootstrap_servers == lab.cluster("south").bootstrap(lab.settings)
    assert found.group("orders").clusters == lab.settings.names


def test_the_topology_of_a_lab_whose_copies_have_other_names_says_so(tmp_path: Path) -> None:
    lab = Lab(tmp_path, naming="default", environ={})
    topology_file.write(lab.home, lab.settings)
    group = load(Path(lab.environ["KAFKA_DR_TOPOLOGY"]), lab.environ).group("orders")
    naming = group.naming("east", "west")
    assert naming is not None
    assert naming.copy_of("orders.payments") == "east.orders.payments"
    assert group.drill is None


def test_who_is_outside_of_a_datacenter_is_led_through_the_proxy_and_applications_are_not(tmp_path: Path) -> None:
    lab = Lab(tmp_path, proxied=True, environ={})
    topology_file.write(lab.home, lab.settings)
    west, inside = load(Path(lab.environ["KAFKA_DR_TOPOLOGY"]), lab.environ).clusters["west"], lab.cluster("west")
    outside = inside.outside_bootstrap(lab.settings)
    assert outside != inside.bootstrap(lab.settings)
    assert (west.replicator.bootstrap_servers, west.route_bootstrap_servers) == (
        outside,
        inside.bootstrap(lab.settings),
    )
    stored = lab.connections()
    for role in ("operator", "probe", "audit", "replicator"):
        assert stored.get(f"kafka_west_{role}").extra["bootstrap.servers"] == outside
    assert stored.get("connect_west").port == inside.outside_connect_port(lab.settings)
    assert inside.outside_connect_port(lab.settings) != inside.connect_port(lab.settings.ports)
    assert lab.client_settings("west", "orders-app")["bootstrap.servers"] == inside.bootstrap(lab.settings)


def test_a_lab_of_two_has_the_projects_own_topology(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    topology_file.write(lab.home, lab.settings)
    assert Path(lab.environ["KAFKA_DR_TOPOLOGY"]) == PROJECT / "include" / "topology.yaml"
    assert list(tmp_path.iterdir()) == []


def test_the_first_flow_from_a_cluster_says_where_a_failover_goes(tmp_path: Path) -> None:
    lab = Lab(tmp_path, clusters=4, flows=(("east", "north"), ("east", "west"), ("north", "east")))
    assert [lab.target_of(source) for source in ("east", "north")] == ["north", "east"]
    with pytest.raises(LabError, match="no flow of the lab begins on south"):
        lab.target_of("south")


def test_a_cluster_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="the lab has no cluster 'north': its clusters are east, west"):
        Lab(tmp_path).cluster("north")
    assert Lab(tmp_path, clusters=3).cluster("north").name == "north"

"""A lab of three clusters: each works, the first is copied to each other one, and all three are judged."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from kafka_dr.replication.flow import Flow
from lab.api import Lab
from lab.demo.stray_producer import StrayProducer
from lab.invariants.check import check_invariants
from lab.invariants.model import ActivePeriod, InvariantReport
from lab.invariants.observe import observe
from lab.traffic.control import Traffic
from support.protection import Protection

pytestmark = [pytest.mark.kafka, pytest.mark.long]
SECONDS = 60.0
FLOWS = (("east", "west"), ("east", "north"))
#: No flow is made for it alone, and the judge does not count it.
TOPIC = "orders.dr-canary"


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory, own_port_base: int) -> Iterator[Lab]:
    lab = Lab(tmp_path_factory.mktemp("three") / "home", port_base=own_port_base, clusters=3, flows=FLOWS)
    try:
        lab.up(airflow=False)
        yield lab
    finally:
        lab.down(delete=True)


@pytest.fixture(scope="module")
def copied(three: Lab, tmp_path_factory: pytest.TempPathFactory) -> Protection:
    """The lab's own group, with a flow from the first cluster to each other one."""
    group = Protection(three, tmp_path_factory.mktemp("orders"), name="orders", partitions=6)
    with group.clients() as clients:
        for source, target in FLOWS:
            group.start_flow(clients, Flow("orders", source, target))
    return group


def test_every_cluster_has_a_broker_and_those_that_a_flow_ends_on_have_a_connect_worker(three: Lab) -> None:
    status = three.status()
    assert status.running
    of_copies = [f"{cluster}-{part}" for cluster in ("north", "west") for part in ("broker-1", "connect")]
    assert {process.name for process in status.processes} == {"east-broker-1", "vantage", *of_copies}
    assert [cluster.name for cluster in status.clusters] == ["east", "west", "north"]
    assert three.environ["KAFKA_DR_LAB_NORTH"] == status.clusters[2].bootstrap_servers
    assert Lab(three.home.root).settings == three.settings


@pytest.mark.parametrize("cluster", ["east", "west", "north"])
def test_applications_write_and_read_each_cluster(three: Lab, cluster: str) -> None:
    application = three.client_settings(cluster, "orders-app")
    refused: list[object] = []
    producer = Producer(application)
    producer.produce(TOPIC, cluster.encode(), on_delivery=lambda error, _: refused.append(error))
    assert producer.flush(SECONDS) == 0
    assert refused == [None]
    reader = Consumer({**application, "group.id": f"orders-{cluster}", "auto.offset.reset": "earliest"})
    reader.subscribe([TOPIC])
    try:
        message = reader.poll(SECONDS)
        assert message is not None
        assert message.value() == cluster.encode()
    finally:
        reader.close()


def test_the_judge_judges_all_three(three: Lab, copied: Protection, tmp_path: Path) -> None:
    began = time.time()
    three.home.route.parent.mkdir(parents=True, exist_ok=True)
    servers = three.cluster("east").bootstrap(three.settings)
    three.home.route.write_text(json.dumps({"active": "east", "bootstrap_servers": servers}))
    traffic = Traffic(three, tmp_path / "traffic")
    try:
        traffic.start(seconds=SECONDS)
    finally:
        traffic.stop(drain_seconds=1.0)
    for _, target in FLOWS:
        copied.wait_copied(target=target, seconds=SECONDS)

    good = _verdict(three, traffic.logs, began)
    assert good.held, good.findings
    assert good.figures.acknowledged > 0

    assert StrayProducer("north", three.client_settings("north", "orders-app"), logs=traffic.logs).write(3) == 3
    bad = _verdict(three, traffic.logs, began)
    assert {each.invariant for each in bad.violated} == {"I1", "I2"}
    assert bad.figures.both_sides == bad.figures.lost == 3
    assert all("on north" in example for each in bad.violated if each.invariant == "I1" for example in each.examples)


def _verdict(lab: Lab, logs: Path, began: float) -> InvariantReport:
    seen = observe(logs, {each: lab.client_settings(each, "admin") for each in lab.settings.names})
    held = [{record.record for log in there.values() for record in log} for there in seen.logs.values()]
    # What the clusters hold is the same but for the records that one of them has alone.
    assert set(seen.logs) == {"east", "west", "north"}
    assert held[0] <= held[1] == held[0]
    assert held[0] <= held[2]
    return check_invariants(seen, [ActivePeriod("east", began)])

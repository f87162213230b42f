"""Audits on a Spark cluster, and of more records than memory holds: the same findings, to the exact offset."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.api import Lab
from lab.bench.logs import Shape, write
from lab.credentials import ADMIN
from lab.spark_cluster import MASTER, WORKERS
from support.large_logs import submitted, truth
from support.protection import Protection

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long]


@pytest.fixture
def spark_cluster(lab: Lab) -> Iterator[Lab]:
    """The shared lab with a master and two workers."""
    with_cluster = Lab(lab.home.root, spark_cluster=True)
    with_cluster.up(airflow=False)
    try:
        yield with_cluster
    finally:
        for name in (*WORKERS, MASTER):
            with_cluster.supervisor.stop(name)
        lab.settings.write(lab.home)


def written(lab: Lab, *shapes: Shape) -> None:
    write({each: lab.client_settings(each, ADMIN) for each in ("east", "west")}, shapes)


@pytest.mark.timeout(1_800)
def test_two_executors_of_a_cluster_find_what_one_process_finds(
    spark_cluster: Lab, protection: Protection, tmp_path: Path
) -> None:
    lab, url = spark_cluster, spark_cluster.settings.ports.spark_url
    faulty = Shape(f"{protection.name}.faulty", 6, 60_000, 200, 300)
    written(lab, faulty, Shape(f"{protection.name}.equal", 2, 10_000, 2_000))

    # A read that a busy machine delays is tried again, as it is on a cluster.
    alone = "local[2,4]"
    one = submitted(lab, protection, "checksum_audit", tmp_path / "one", "--full", master=alone)
    two = submitted(lab, protection, "checksum_audit", tmp_path / "two", "--full", master=url)

    assert (one.code, two.code) == (1, 1), one.said + two.said
    assert one.found == two.found == truth(faulty)
    for name in ("verdict", "sentence", "counts", "coverage", "records_read", "self_test"):
        assert one.report[name] == two.report[name], name
    lags = [
        submitted(lab, protection, "lag_audit", tmp_path / f"lag-{number}", master=master)
        for number, master in enumerate((alone, url))
    ]
    seen = [
        {(p["topic"], p["partition"]): (p["records"], p["bytes"]) for p in each.report["replication"]["partitions"]}
        for each in lags
    ]
    assert seen[0] == seen[1]
    assert sum(records for records, _ in seen[0].values()) == 70_000
    # Both workers have run an executor of each of the two applications.
    for worker in WORKERS:
        assert len(list((lab.home.spark_cluster / worker).glob("app-*"))) >= 2, worker


@pytest.mark.timeout(7_200)
def test_a_thousand_faults_in_twenty_million_records_are_found_offset_for_offset(
    lab: Lab, protection: Protection, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Twenty million records are read: ten million of each cluster."""
    faulty = Shape(f"{protection.name}.millions", 8, 10_000_000, 100, 1_000)
    written(lab, faulty)
    found = submitted(lab, protection, "checksum_audit", tmp_path / "out", master="local[2,4]", seconds=5_400)
    assert found.code == 1, found.said
    assert found.found == truth(faulty)
    assert found.report["records_read"] > 19_990_000
    record_property("seconds", found.report["seconds"])
    record_property("memory_gb", round(found.memory_gb, 2))

"""A topic that tasks compare ends as the same topic compared in the driver: each finding, each number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from copy_audit.partitions import AuditLookups, PartitionOutcome
from copy_audit.topic_audit import audit_topic
from copy_audit.unmatched import nowhere
from support.compared_topics import NOW, TOPIC, ComparedHistory, numbers
from support.topic_audits import OLD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from jobs.checksum.compared_in_tasks import TaskSizes

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


def outcomes(
    spark: SparkSession, history: ComparedHistory, root: str, sizes: TaskSizes, **limits: int
) -> tuple[list[PartitionOutcome], bool]:
    """Return how an audit ends, and whether tasks have compared."""
    from jobs.checksum.compared_logs import ComparedLogs
    from jobs.fingerprint_log import FingerprintLog

    log = FingerprintLog(spark, root)
    compared = ComparedLogs(log, {"source": "east", "target": "west"}, history.history, sizes)
    logs, ancestors = compared.of_topic(NOW, TOPIC, history.plan, history.resolved, history.gone)
    assert {each.matched is None for each in logs} == {ancestors is None}
    lookups = AuditLookups(history.payloads, nowhere, keys=history.keys, compared=ancestors)
    return audit_topic(logs, compacted=False, lookups=lookups, **limits), ancestors is not None


@pytest.mark.parametrize(("seed", "root"), [(0, "file://"), (1, "viewfs://elsewhere")])
def test_tasks_find_what_the_driver_finds_and_count_what_it_counts(
    spark: SparkSession, tmp_path: Path, seed: int, root: str
) -> None:
    """Tasks compare what is much, also on storage that the driver's own Python does not read."""
    from jobs.checksum.compared_in_tasks import TaskSizes

    history = ComparedHistory.make(seed, partitions=4, records=2_000)
    history.write(tmp_path)
    spark.conf.set(f"fs.viewfs.mounttable.elsewhere.link.{tmp_path}", f"file://{tmp_path}")
    limits = {"young_from": (0, OLD)[seed], "late_before": (-OLD, 1_000_000)[seed]}
    here = outcomes(spark, history, f"file://{tmp_path}", TaskSizes(here=1_000_000), **limits)
    sizes = TaskSizes(here=3_000, item=200, one_in=4)
    in_tasks = outcomes(spark, history, f"{root}{tmp_path}", sizes, **limits)
    assert (here[1], in_tasks[1]) == (False, True)
    assert [numbers(each) for each in in_tasks[0]] == [numbers(each) for each in here[0]]
    assert len({difference.kind for each in here[0] for difference in each.settled}) > 3

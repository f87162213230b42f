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
    spark: SparkSession, history: ComparedHistory, root: Path, sizes: TaskSizes, **limits: int
) -> list[PartitionOutcome]:
    from jobs.checksum.compared_logs import ComparedLogs
    from jobs.fingerprint_log import FingerprintLog

    log = FingerprintLog(spark, f"file://{root}")
    compared = ComparedLogs(log, {"source": "east", "target": "west"}, history.history, sizes)
    logs, ancestors = compared.of_topic(NOW, TOPIC, history.plan, history.resolved, history.gone)
    assert (ancestors is None) == (sizes.here > 0)
    assert all((each.matched is None) == (sizes.here > 0) for each in logs)
    lookups = AuditLookups(history.payloads, nowhere, keys=history.keys, compared=ancestors)
    return audit_topic(logs, compacted=False, lookups=lookups, **limits)


@pytest.mark.parametrize("seed", range(2))
def test_tasks_find_what_the_driver_finds_and_count_what_it_counts(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    from jobs.checksum.compared_in_tasks import TaskSizes

    history = ComparedHistory.make(seed, partitions=4, records=2_000)
    history.write(tmp_path)
    limits = {"young_from": (0, OLD, 100_000)[seed % 3], "late_before": (-OLD, 1_000_000)[seed % 2]}
    here = outcomes(spark, history, tmp_path, TaskSizes(here=1_000_000), **limits)
    in_tasks = outcomes(spark, history, tmp_path, TaskSizes(here=0, item=200, one_in=4), **limits)
    assert [numbers(each) for each in in_tasks] == [numbers(each) for each in here]
    assert len({difference.kind for each in here for difference in each.settled}) > 3

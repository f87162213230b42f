"""An old cluster whose fence is made of DENYs of every operation, from the disaster until it is active again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from integration.failback.test_failback import assert_nothing_lost_or_twice, disaster, go_home, read_to_the_end

from kafka_dr.runs.request import StepName
from support.closed_standby import assert_nobody_is_let_in_twice, close, rights_of_others
from support.failback_run import STEPS, FailbackRun
from support.old_cluster import OldClusterGroup
from support.stranding import list_stranded
from support.switched_group import SwitchedGroup

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.mark.long
def test_a_closed_old_cluster_is_made_a_copy_and_closed_wherever_a_process_dies(
    left: OldClusterGroup, spark: SparkSession, auditor: Callable[[], None]
) -> None:
    protection, group = left.protection, SwitchedGroup(left.protection)
    protection.changes["fence_operations"] = "all"
    given = rights_of_others(protection)
    close(group)
    disaster(left, by_the_verb=True)
    read_to_the_end(left, f"{protection.name}-slow")
    listed = list_stranded(protection, spark, run=left.run)
    home = FailbackRun(protection, auditor)
    home.wherever_it_dies(StepName.PREFLIGHT)
    home.approve()
    for step in STEPS[STEPS.index(StepName.CLAIM) :]:
        if step is StepName.SETTLE:
            auditor()
        home.wherever_it_dies(step)
        assert_nobody_is_let_in_twice(protection)
    close(group)
    assert (group.active, group.standby) == ("west", "east")
    assert_nothing_lost_or_twice(left, listed, "west", ())
    go_home(left)
    close(group)
    assert rights_of_others(protection) == given

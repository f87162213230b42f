"""Parses a folder of DAGs, and says how long that took and how many task instances a day the scheduled ones have.

Run by ``bench watch`` in a process of its own, so that nothing is imported before. A mapped task counts as one: with
nothing to be mapped over it has one instance, which is skipped. Audits count once for each of their Spark applications.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import time
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

from croniter import croniter_range

_LOOKS_OF_HEALTH = 24 * 60
#: A day begins and ends half a minute before a schedule can run.
_DAY = datetime(2026, 3, 1, 23, 59, 30, tzinfo=UTC)


def _runs_a_day(schedule: Any) -> int:
    """Return how often a schedule of this project runs in a day, as Airflow's own library reads it."""
    if (clock := getattr(schedule, "timetable", None)) is not None:
        from kafka_dr_airflow.operators.rounds import HEALTH_LOOKED

        # Beyond the clock a DAG follows each look of health, or something that a quiet day does not have.
        follows = HEALTH_LOOKED in schedule.asset_condition.objects
        return _runs_a_day(clock.expression) + (_LOOKS_OF_HEALTH if follows else 0)
    return sum(1 for _ in croniter_range(_DAY, _DAY + timedelta(days=1), str(schedule), exclude_ends=True))


def _instances(dag: Any, groups: int) -> int:
    """Return the task instances of one run in which no group is red."""
    from kafka_dr.rounds.shares import divided
    from kafka_dr_airflow.operators.audit_shares import GROUPS_OF_AN_APPLICATION, SHARES

    applications = len(divided(tuple(map(str, range(groups))), at_most=GROUPS_OF_AN_APPLICATION))
    shared = [task for task in dag.tasks if task.is_mapped and SHARES in task.upstream_task_ids]
    return len(dag.tasks) + len(shared) * (applications - 1)


def main(folder: Path) -> None:
    """Parse and count."""
    import_module("airflow.sdk")  # Airflow itself is there before it parses a file
    from kafka_dr_airflow.topology_file import read_topology

    seconds, tasks = {}, {}
    groups = len(read_topology(os.environ).protection_groups)
    for path in sorted(folder.glob("*.py")):
        began = time.monotonic()
        dag = runpy.run_path(str(path))["dag"]
        seconds[path.stem] = round(time.monotonic() - began, 3)
        if dag.schedule:
            tasks[path.stem] = _instances(dag, groups) * _runs_a_day(dag.schedule)
    report = {"parse_seconds": max(seconds.values()), "parse_seconds_of": seconds, "tasks_a_day": tasks}
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

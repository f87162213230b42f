"""The demo of copies with other names: what its approvers were shown is what may be read again."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from lab.demo.failover_run import FailoverRun
from lab.demo.names import handovers
from lab.demo.run_evidence import RunEvidence
from lab.invariants.continued import Handover


def test_what_the_approvers_of_a_disaster_were_shown_is_what_may_be_read_again(tmp_path: Path) -> None:
    shown = [{"group": "orders-head", "redelivered_at_most": 7}, {"group": "orders-slow", "redelivered_at_most": None}]
    folder = tmp_path / "runs" / "orders" / "run-2"
    folder.mkdir(parents=True)
    step = {"outcome": "done", "seconds": 1, "finished_at": "2026-11-28T00:00:00+00:00"}
    (folder / "01-gather_evidence.1.json").write_text(
        json.dumps({**step, "facts": {"measurements": {"groups": shown}}})
    )
    for name in ("run-1", "run-2"):
        (folder.parent / name).mkdir(exist_ok=True)
        (folder.parent / name / "07-open_target.1.json").write_text(json.dumps(step))

    def moved(name: str, verb: str, second: int) -> FailoverRun:
        at, evidence = datetime.fromtimestamp(second, UTC), RunEvidence(tmp_path, group="orders", run=name)
        return FailoverRun(name, "east", "west", at, "success", evidence, verb=verb)

    runs = [moved("run-1", "planned_failover", 10), moved("run-2", "unplanned_failover", 20)]
    assert handovers([*runs, moved("run-3", "planned_failover", 30)]) == [
        Handover("east", "west", 10.0, 20.0, None),
        Handover("east", "west", 20.0, float("inf"), {"orders-head": 7, "orders-slow": None}),
    ], "the last one did not move the group"

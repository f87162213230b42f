"""What the demo says at the end, and when it says that all is well."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from lab.demo.failover_run import FailoverRun
from lab.demo.report import DemoOutcome, as_json, longest, mirrormaker
from lab.demo.run_evidence import RunEvidence
from lab.demo.screen import closing
from lab.demo.switch_times import Spread, SwitchTimes, times_by_verb
from lab.invariants.check import check_invariants, not_judged
from support.healthy_switch import PERIODS, SWITCH_AT, healthy
from support.written_evidence import RUN, evidence, wrote

ASKED_FOR = {
    "ready_seconds",
    "approved_to_verified_seconds",
    "write_outage_seconds",
    "acknowledged",
    "lost",
    "reordered",
    "redelivered",
    "mm2_redelivered",
    "uncommitted_at_freeze",
    "rpo_seconds",
    "rto_seconds",
    "steps",
    "groups",
    "evidence",
}


def went_through(root: Path) -> DemoOutcome:
    wrote(root, "08-open_target.1.json")
    wrote(root, "10-verify.1.json", finished_at="1970-01-01T00:01:46.500000Z")
    run = FailoverRun(
        run=RUN,
        source="east",
        target="west",
        approved_at=datetime.fromtimestamp(100.0, UTC),
        state="success",
        evidence=RunEvidence(root, group="orders", run=RUN),
    )
    return DemoOutcome(ready_seconds=40.0, runs=(run,), verdict=check_invariants(healthy(), PERIODS))


def test_a_good_demo_reports_every_figure(tmp_path: Path) -> None:
    outcome = went_through(tmp_path)
    report = as_json(outcome)
    assert outcome.good
    assert report.keys() >= ASKED_FOR
    assert report["approved_to_verified_seconds"] == 6.5
    assert report["write_outage_seconds"] == report["switches"][0]["write_outage_seconds"] == 102.0
    same = {"median": 6.5, "shortest": 6.5, "longest": 6.5}
    assert report["times"]["planned_failover"]["approved_to_verified_seconds"] == same
    assert report["times"]["planned_failover"]["switches"] == 1
    assert report["steps"][0] == {"name": "open_target", "seconds": 1.5, "outcome": "done"}
    assert report["evidence"] == str(evidence(tmp_path).folder)
    assert closing(outcome) == "Every invariant held."
    json.dumps(report)


def test_mirrormakers_figure_is_the_sum_of_all_runs_and_unknown_where_one_did_not_know(tmp_path: Path) -> None:
    wrote(tmp_path, "12-report.1.json", facts={"mm2_redelivered_at_most": 570})
    known, other = evidence(tmp_path), RunEvidence(tmp_path, group="orders", run="another")
    assert mirrormaker([known, known]) == 1_140
    assert mirrormaker([known, other]) is None


def test_a_run_that_did_not_go_through_is_not_good_although_every_invariant_held(tmp_path: Path) -> None:
    outcome = went_through(tmp_path)
    wrote(tmp_path, "04-fence_source.1.json", outcome="failed", detail="somebody writes")
    stopped = replace(outcome, runs=(replace(outcome.runs[0], state="failed"),))
    assert stopped.verdict.held
    assert not stopped.good
    assert "fence_source failed: somebody writes" in closing(stopped)


def test_a_failback_that_stopped_leaves_the_group_where_the_failover_has_moved_it(tmp_path: Path) -> None:
    outcome = went_through(tmp_path)
    nothing = RunEvidence(tmp_path, group="orders", run="back")
    back = replace(outcome.runs[0], run="back", source="west", target="east", state="failed", moves=False)
    stopped = replace(outcome, runs=(*outcome.runs, replace(back, evidence=nothing)))
    said = "The run back did not go through (it ended as failed); west is the active cluster."
    assert closing(stopped).endswith(said)


def test_a_broken_invariant_is_named_in_the_last_line(tmp_path: Path) -> None:
    world = healthy()
    without = {part: [each for each in log if each.offset] for part, log in world.logs["west"].items()}
    broken = check_invariants(replace(world, logs={**world.logs, "west": without}), PERIODS)
    outcome = replace(went_through(tmp_path), verdict=broken)
    assert not outcome.good
    assert closing(outcome).startswith("I2 is violated: 2 acknowledged records")


def test_what_could_not_be_judged_is_never_good(tmp_path: Path) -> None:
    world = healthy()
    silent = check_invariants(replace(world, writes=world.writes[:SWITCH_AT]), PERIODS)
    outcome = replace(went_through(tmp_path), verdict=silent)
    assert not outcome.good
    assert "I1 is unknown" in closing(outcome)


def test_a_sabotage_without_effect_is_not_good(tmp_path: Path) -> None:
    outcome = replace(went_through(tmp_path), sabotage="did not come to no_fence: the run never got through verify")
    assert outcome.verdict.held
    assert not outcome.good
    assert "proves nothing" in closing(outcome)


def test_a_failback_is_reported_next_to_the_switches_with_its_own_steps(tmp_path: Path) -> None:
    outcome = went_through(tmp_path)
    facts = {"mode": "rebuild", "stranded": 8, "rescued": 7, "quarantine": [], "seconds_to_caught_up": 3.5}
    (tmp_path / "runs" / "orders" / "home").mkdir(parents=True)
    written = evidence(tmp_path).folder
    wrote(tmp_path, "10-report.1.json", facts=facts)
    (written / "10-report.1.json").replace(written.with_name("home") / "10-report.1.json")
    home = replace(
        outcome.runs[0],
        run="home",
        moves=False,
        evidence=RunEvidence(tmp_path, group="orders", run="home"),
        approved_by=("alice", "bob"),
    )
    told = as_json(replace(outcome, runs=(home, *outcome.runs)))
    assert told["failback"] | facts == told["failback"]
    assert told["failback"]["approved_by"] == ["alice", "bob"]
    assert [step["name"] for step in told["failback"]["steps"]] == ["report"]
    assert [each["run"] for each in told["switches"]] == [RUN]
    assert "failback" not in as_json(outcome)


def test_what_was_not_judged_is_named_in_the_last_line(tmp_path: Path) -> None:
    outcome = went_through(tmp_path)
    partly = replace(outcome, verdict=outcome.verdict.also([not_judged("I6", "nothing was interrupted")]))
    assert partly.good
    assert closing(partly) == "Every invariant that was judged held; I6 was not judged."


def test_the_times_of_each_verb_are_kept_apart_and_read_again() -> None:
    home, lost = "planned_failover", "unplanned_failover"
    times = times_by_verb([(home, 1.0, 3.0), (lost, 9.0, 8.0), (home, 5.0, 4.0), (home, 2.0, 3.5)])
    assert times[home] == SwitchTimes(3, Spread(2.0, 1.0, 5.0), Spread(3.5, 3.0, 4.0))
    assert times[lost] == SwitchTimes(1, Spread(9.0, 9.0, 9.0), Spread(8.0, 8.0, 8.0))
    assert str(times[home].write_outage) == "median 2 s, shortest 1 s, longest 5 s"
    written = json.loads(json.dumps({"times": {verb: each.to_json() for verb, each in times.items()}}))
    assert SwitchTimes.planned_of(written, called="a") == times[home]


def test_one_unknown_time_leaves_all_of_them_unknown() -> None:
    times = times_by_verb([("planned_failover", 1.0, 3.0), ("planned_failover", None, 4.0)])["planned_failover"]
    assert (times.write_outage, times.approved_to_verified) == (None, Spread(3.5, 3.0, 4.0))
    assert times.to_json()["write_outage_seconds"] is None
    assert SwitchTimes.planned_of({"times": {"planned_failover": times.to_json()}}, called="a") == times


def test_an_unknown_time_makes_the_longest_unknown() -> None:
    assert longest([1.0, 2.5]) == 2.5
    assert longest([1.0, None]) is None
    assert longest([]) is None


def test_an_objective_that_was_missed_is_named_although_every_invariant_held(tmp_path: Path) -> None:
    outcome = went_through(tmp_path)
    rows = [
        {"name": "rto_seconds", "verdict": "met", "measured": 9.9, "objective": 60, "missed_by": None},
        {"name": "write_outage_seconds", "verdict": "missed", "measured": 7.3, "objective": 5, "missed_by": 2.3},
        {"name": "rpo_seconds", "verdict": "unknown", "measured": None, "objective": 60},
    ]
    wrote(tmp_path, "12-report.1.json", facts={"objectives": rows})
    report = as_json(outcome)
    assert [each["verdict"] for each in report["switches"][0]["objectives"]] == ["met", "missed", "unknown"]
    assert [(each["name"], each["missed_by"]) for each in report["objectives_not_met"]] == [
        ("write_outage_seconds", 2.3),
        ("rpo_seconds", None),
    ]
    assert closing(outcome) == (
        f"Every invariant held. Objectives not met by {RUN}: write outage 7.3 s, missed 5 s by 2.3 s; "
        "rpo is not known, the objective is 60 s."
    )


def test_a_run_that_was_rejected_says_who_said_no(tmp_path: Path) -> None:
    outcome = went_through(tmp_path)
    wrote(tmp_path, "02-approval.2.json", detail="rejected by bob", facts={"answer": {"approved": False}})
    stopped = replace(outcome, runs=(replace(outcome.runs[0], state="failed"),))
    assert f"The run {RUN} did not go through (approval rejected by bob)" in closing(stopped)

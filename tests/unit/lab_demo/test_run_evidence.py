"""The demo reads what a run wrote about itself."""

from __future__ import annotations

from pathlib import Path

from lab.demo.run_evidence import MovedGroup
from support.written_evidence import evidence, wrote


def test_a_run_that_has_written_nothing_has_no_steps(tmp_path: Path) -> None:
    assert evidence(tmp_path).steps() == ()
    assert not evidence(tmp_path).done("claim")


def test_the_newest_attempt_of_a_step_counts(tmp_path: Path) -> None:
    wrote(tmp_path, "10-verify.1.json", outcome="failed", detail="the canary did not come back")
    wrote(tmp_path, "10-verify.10.json", outcome="done")
    wrote(tmp_path, "10-verify.9.json", outcome="failed")
    (step,) = evidence(tmp_path).steps()
    assert (step.attempt, step.outcome) == (10, "done")


def test_steps_come_in_the_order_of_the_verb(tmp_path: Path) -> None:
    for name in ("10-verify", "02-approval", "01-preflight"):
        wrote(tmp_path, f"{name}.1.json")
    assert [step.name for step in evidence(tmp_path).steps()] == ["preflight", "approval", "verify"]


def test_a_half_written_file_is_not_seen_yet(tmp_path: Path) -> None:
    wrote(tmp_path, "03-claim.1.json")
    (evidence(tmp_path).folder / "04-fence_source.1.json").write_text('{"outcome": "do')
    (evidence(tmp_path).folder / "manifest.json").write_text("{}")
    assert [step.name for step in evidence(tmp_path).steps()] == ["claim"]


def test_a_failed_step_says_why_and_a_good_one_what_it_proved(tmp_path: Path) -> None:
    wrote(tmp_path, "03-claim.1.json", outcome="refused", detail="somebody else holds the group")
    wrote(tmp_path, "04-fence_source.1.json", proofs=[{"detail": "refused"}, {"detail": "still"}])
    claim, fence = evidence(tmp_path).steps()
    assert (claim.good, claim.sentence) == (False, "somebody else holds the group")
    assert (fence.good, fence.sentence) == (True, "refused; still")


def test_the_moved_groups_are_those_of_the_cut_over(tmp_path: Path) -> None:
    row = {
        "group": "orders-head",
        "topic": "orders.payments",
        "partition": 2,
        "source_offset": 10,
        "target_offset": 12,
        "class": "exact",
        "redelivered_at_most": 0,
    }
    wrote(tmp_path, "07-cut_over_groups.1.json", facts={"groups": [row]})
    assert evidence(tmp_path).groups() == (MovedGroup("orders-head", "orders.payments", 2, 10, 12, "exact"),)

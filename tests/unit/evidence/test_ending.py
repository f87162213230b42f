"""What became of a run, in one line: moved, dry run, rejected and stopped never look alike; objectives are named."""

from __future__ import annotations

import json

import pytest

from kafka_dr.evidence.ending import MOST, Ending, ending
from kafka_dr.evidence.objectives import objective_results
from kafka_dr.evidence.run_verdict import notes_of
from kafka_dr.evidence.run_view import build_run_view
from support.sentences import assert_sentence

ENDS = {"verb": "planned_failover", "source": "east", "target": "west"}
KEPT = [
    {"name": "rto_seconds", "measured": 9.9, "objective": 60, "verdict": "met"},
    {"name": "write_outage_seconds", "measured": 7.3, "objective": 5, "verdict": "missed"},
]
UNKNOWN = [{"name": "rpo_seconds", "measured": None, "objective": 60, "verdict": "unknown"}]
NO = {"approved": False, "responder": "bob", "responded_at": "2026-11-20T03:00:02Z", "digest": "d", "reason": ""}


def step(outcome: str = "done", detail: str = "", **facts: object) -> dict[str, object]:
    return {"outcome": outcome, "detail": detail, "facts": facts}


def said(**steps: dict[str, object]) -> Ending:
    numbers = {
        "preflight": 1,
        "approval": 2,
        "drain": 5,
        "open_target": 8,
        "plan": 1,
        "apply_safe": 1,
        "apply": 3,
        "report": 12,
        "roll_back": 90,
    }
    files = {f"{numbers[name]:02}-{name}.1.json": json.dumps(each).encode() for name, each in steps.items()}
    return ending(build_run_view("orders", "run", files))


def test_a_run_that_moved_a_group_names_each_objective_the_missed_ones_first() -> None:
    found = said(preflight=step(decision=ENDS), report=step(objectives=KEPT))
    words = "MOVED to west: write outage 7.3 s, missed 5 s by 2.3 s; recovery 9.9 s, met 60 s"
    measured = {"rto_seconds": 9.9, "write_outage_seconds": 7.3}
    objectives = {"rto_seconds": 60.0, "write_outage_seconds": 5.0}
    assert found == Ending(words, good=True, measured=measured, objectives=objectives)


def test_the_seconds_of_each_step_are_those_of_its_last_try_and_a_dry_run_has_none() -> None:
    tries = {
        "01-preflight.1.json": {**step(), "seconds": 4.0},
        "01-preflight.2.json": {**step(), "seconds": 2.5},
        "03-claim.1.json": step(),
    }
    files = {name: json.dumps(each).encode() for name, each in tries.items()}
    assert ending(build_run_view("orders", "run", files)).steps == {"preflight": 2.5}
    dry = {"01-preflight.1.json": json.dumps({**step("would_do"), "seconds": 4.0}).encode()}
    assert ending(build_run_view("orders", "run", dry)).steps == {}


def test_a_run_whose_old_cluster_differs_says_so_and_what_is_not_known() -> None:
    found = said(preflight=step(decision=ENDS), report=step(phase="unfenced", objectives=UNKNOWN))
    words = "MOVED to west, unfenced: data at risk not known, objective 60 s"
    assert found == Ending(words, good=True, objectives={"rpo_seconds": 60.0})


@pytest.mark.parametrize(
    ("least", "as_of", "words"),
    [
        (12, "2026-11-20T03:00:00+00:00", "12 records until 03:00:00 UTC; since then not known"),
        (0, "2026-11-20T03:00:00+00:00", "nothing until 03:00:00 UTC; since then not known"),
        (None, None, "not known: east was copied"),
        (0, None, "nothing (east was copied)"),
    ],
)
def test_the_note_of_an_unplanned_failover_says_what_is_known_of_the_loss(
    least: int | None, as_of: str | None, words: str
) -> None:
    loss = {"at_least_records": least, "as_of": as_of, "reason": "east was copied"}
    found = said(preflight=step(decision=ENDS), report=step(phase="diverged", predicted_loss=loss))
    assert found.note == f"MOVED to west, diverged. Lost: {words}"
    both = said(preflight=step(decision=ENDS), report=step(phase="diverged", predicted_loss=loss, objectives=KEPT))
    assert both.note.startswith(f"{found.note}. "), "the loss comes first: a note of one line may end before the times"


def test_a_run_that_continued_without_a_proof_ends_as_its_report_says() -> None:
    went_on = step("unproven", "no answer")
    assert said(open_target=went_on, report=step(decision=ENDS, objectives=KEPT)).good
    assert_sentence(said(open_target=went_on, report=step("unknown", "still no answer")).note)


def test_a_no_is_not_good_and_what_was_typed_in_is_data() -> None:
    answer = {**NO, "reason": "not <!-- tonight\n# MOVED to [west](http://evil.example)"}
    found = said(preflight=step(), approval=step(answer=answer))
    assert not found.good
    assert found.note.startswith("REJECTED by bob: not ")
    assert "\n" not in found.note
    assert r"\<\!--" in found.note
    assert found.note.endswith("`[west](http://evil.example)`")
    assert said(approval=step(answer=NO)).note == "REJECTED by bob"


def test_an_approval_that_nobody_gave_is_not_good() -> None:
    found = said(preflight=step(), approval=step("passed", "nobody answered", expired=True))
    assert found == Ending("EXPIRED: nobody answered in time; nothing was changed. A new run asks again", good=False)


@pytest.mark.parametrize(
    ("steps", "note"),
    [
        ({"preflight": step("refused", "lag: too far")}, "REFUSED at preflight: lag: too far"),
        ({"drain": step("unknown", "no answer")}, "UNKNOWN at drain: no answer"),
        (
            {"drain": step("failed", "it broke"), "roll_back": step("done", "stable on east again", epoch=4)},
            "ROLLED BACK: stable on east again, FAILED at drain: it broke",
        ),
        ({"roll_back": step("failed", "no register")}, "NOT ROLLED BACK: no register, "),
        ({"preflight": step(), "approval": step("done", "asked")}, "NOT FINISHED: "),
        ({}, "NOTHING WAS RECORDED"),
    ],
)
def test_a_run_that_did_not_finish_is_not_good_and_says_where_it_stopped(
    steps: dict[str, dict[str, object]], note: str
) -> None:
    found = said(**steps)
    assert not found.good
    assert found.note.startswith(note.removesuffix(", "))


def test_a_dry_run_never_looks_like_a_switch() -> None:
    detail = "dry run of a planned failover of orders, east → west: nothing was changed"
    found = said(preflight=step("would_do", detail, dry_run=True), report=step("would_do", detail, dry_run=True))
    assert found.good
    assert found.note.startswith("DRY RUN: a planned failover of orders, east → west")
    refused = said(preflight=step("refused", "no", dry_run=True))
    assert refused == Ending("DRY RUN: would be REFUSED at preflight: no", good=False)


def test_a_config_sync_says_what_it_changed() -> None:
    assert said(plan=step(detail="3 safe")).note == "PLANNED: 3 safe"
    assert said(plan=step(), apply=step(detail="3 changes made, 0 left")).note == "CHANGED: 3 changes made, 0 left"
    # After a change the plan is made again, and shows no difference any more.
    for name in ("apply", "apply_safe"):
        changed = {name: step(detail="1 change was made"), "plan": step(detail="no difference")}
        assert said(**changed).note == "CHANGED: 1 change was made"


def test_a_failback_says_what_is_a_copy_again() -> None:
    ends = {"verb": "failback", "source": "west", "target": "east"}
    found = said(preflight=step(decision=ends), report=step(mode="rebuild", stranded=22, rescued=20))
    assert_sentence(found.note)
    late = [{"choice": "deliver", "records": 20, "written_since": 12}, {"choice": "hold", "records": 2}]
    found = said(preflight=step(decision=ends), report=step(mode="deliver", stranded=22, rescued=0, late=late))
    assert found.note.endswith("; 20 of them arrived late, 12 have keys that were written since")


def test_no_note_is_longer_than_airflow_takes() -> None:
    found = said(drain=step("failed", "!" * 5000))
    assert len(found.note) <= MOST


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"name": "write_outage_seconds", "measured": 5, "objective": 5}, "write outage 5.0 s, met 5 s"),
        (
            {"name": "write_outage_seconds", "measured": 5.02, "objective": 5},
            "write outage 5.0 s, missed 5 s by 0.02 s",
        ),
        ({"name": "rpo_seconds", "measured": None, "objective": 5}, "data at risk not known, objective 5 s"),
    ],
)
def test_an_objective_in_words(row: dict[str, object], words: str) -> None:
    assert [each.words for each in objective_results({"objectives": [row]})] == [words]


def test_objectives_of_another_shape_are_ignored() -> None:
    assert objective_results({"objectives": 5}) == ()
    assert objective_results({"objectives": [5, {"name": 5}, {"name": "rto_seconds"}]}) == ()
    (found,) = objective_results({"objectives": [{"name": "rto_seconds", "objective": 60}], "rto_seconds": 61})
    assert (found.verdict, found.missed_by) == ("missed", 1.0)


def test_a_recovery_after_the_approval_says_so_and_its_parts_are_measured() -> None:
    (found,) = objective_results(
        {"objectives": [{"name": "rto_seconds", "objective": 60, "measured": 9.9, "since": "approval"}]}
    )
    assert found.words == "recovery after the approval 9.9 s, met 60 s"
    assert found.to_json()["since"] == "approval"


def test_a_run_says_how_long_the_service_was_away_and_what_that_was_spent_on() -> None:
    recovery = {
        "last_service_seen": "the last look at east",
        "since_fault_seconds": 565.0,
        "since_approval_seconds": 9.9,
        "parts": {"detection": 67.0, "people": 488.1, "switch": 6.0, "applications": 3.9},
    }
    notes = list(notes_of((), {"recovery": recovery}))
    assert_sentence(notes)
    unknown = {**recovery, "since_fault_seconds": None, "last_service_seen": "nobody looked at east", "parts": {}}
    assert_sentence(next(iter(notes_of((), {"recovery": unknown}))))


def test_a_run_says_what_it_has_fetched_from_other_standbys_and_what_stays_there() -> None:
    said = ["12 records were fetched from north in 3 s", "it is not known how much south holds: south does not answer"]
    notes = list(notes_of((), {"from_other_standbys": said}))
    assert notes == [f"Other standbys: {each}." for each in said]
    assert_sentence(notes)
    assert list(notes_of((), {"from_other_standbys": "a text"})) == []

"""A note of ours never replaces what a person wrote, and shows no secret."""

from __future__ import annotations

import pytest

from kafka_dr.evidence.known_secrets import KnownSecrets
from kafka_dr_airflow.note_text import LINE, MARK, MOST, combined, without_secrets

LINK = "[DR status](/kafka-dr/status)"
OURS = f"MOVED to west {LINK} {MARK}"


def test_without_another_note_ours_is_alone_and_a_later_one_replaces_it() -> None:
    first = combined("", "FAILED at drain", link=LINK)
    assert first == f"FAILED at drain {LINK} {MARK}"
    assert combined(first, "MOVED to west", link=LINK) == OURS


def test_what_a_person_wrote_stays_before_ours_however_often_ours_is_written() -> None:
    person = "FAILED twice before.\n\nAsk Bob."
    once = combined(person, "FAILED at drain", link=LINK)
    assert once is not None
    assert combined(once, "MOVED\n\nto west", link=LINK) == f"{person}\n\n{OURS}"


@pytest.mark.parametrize("note", ["MOVED to west; " * 50, "x" * 2000, "FAILED\nat drain:\n\n" + "no answer; " * 90])
@pytest.mark.parametrize("then", ["", "HALF MOVED: orders. Next: Abandon or finish the run."])
def test_a_note_is_one_line_that_a_list_shows_whole_and_always_says_what_to_do(note: str, then: str) -> None:
    found = combined("", note, link=LINK, then=then)
    assert found is not None
    assert found.endswith(f"… {then} {LINK} {MARK}" if then else f"… {LINK} {MARK}")
    assert "\n" not in found
    assert len(found) <= LINE + len(f" {LINK} {MARK}")


def test_what_a_person_does_next_is_never_cut_and_ours_is_still_named() -> None:
    then = f"Next: {'look ' * 80}"
    assert combined("", "MOVED to west", link=LINK, then=then) == f"MOVED to west. {then} {LINK} {MARK}"
    long = combined("", f"REFUSED at preflight: {'because ' * 40}", link=LINK, then=then)
    assert (long or "").startswith("REFUSED at preflight: because because because because…")


def test_what_a_person_wrote_is_never_cut_and_ours_is_left_out_where_it_leaves_no_room() -> None:
    ours = f"\n\n{OURS}"
    assert combined("p" * (MOST - len(ours)), "MOVED to west", link=LINK) == "p" * (MOST - len(ours)) + ours
    assert combined("p" * (MOST - len(ours) + 1), "MOVED to west", link=LINK) is None


def test_a_secret_is_not_shown() -> None:
    known = KnownSecrets()
    known.add("correct horse battery")
    assert without_secrets("MOVED to west", known) == "MOVED to west"
    for secret in ("refused: correct horse battery", f"-----BEGIN PRIVATE KEY-----\n{'a' * 64}"):
        assert secret.split()[-1] not in without_secrets(secret, known)

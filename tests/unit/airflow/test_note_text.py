"""A note of ours never replaces what a person wrote, and shows no secret."""

from __future__ import annotations

from kafka_dr.evidence.known_secrets import KnownSecrets
from kafka_dr_airflow.note_text import MARK, MOST, combined, without_secrets

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
    assert combined(once, "MOVED\n\nto west", link=LINK) == f"{person}\n\nMOVED\nto west {LINK} {MARK}"


def test_what_a_person_wrote_is_never_cut_and_ours_is_only_as_long_as_airflow_accepts() -> None:
    assert len(combined("", "x" * 2000, link=LINK) or "") == MOST
    long = combined("p" * 700, "x" * 2000, link=LINK)
    assert long is not None
    assert len(long) == MOST
    assert long.startswith("p" * 700 + "\n\n")
    assert long.endswith(f"… {LINK} {MARK}")
    assert combined("p" * 900, "x" * 200, link=LINK) is None


def test_a_secret_is_not_shown() -> None:
    known = KnownSecrets()
    known.add("correct horse battery")
    assert without_secrets("MOVED to west", known) == "MOVED to west"
    for secret in ("refused: correct horse battery", f"-----BEGIN PRIVATE KEY-----\n{'a' * 64}"):
        assert secret.split()[-1] not in without_secrets(secret, known)

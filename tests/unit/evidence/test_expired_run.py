"""Whoever can write evidence cannot remove it and call it expired."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafka_dr.evidence.expired_run import Tombstone, remove_evidence
from kafka_dr.evidence.seal import PreviousSeal, Seal
from kafka_dr.evidence.sealed_run_check import SealedRunCheck, check_sealed_run
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.evidence.store import EvidenceStore
from kafka_dr.storage.deadline_path import with_deadline
from support.manual_clock import ManualClock

KEY, OTHER = SigningKey.generate(), SigningKey.generate()
AT = datetime(2026, 11, 20, 3, 0, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> EvidenceStore:
    return EvidenceStore(tmp_path, ManualClock(start=AT))


def removed_run(store: EvidenceStore, *, key: SigningKey | None = KEY, lists: bool = True, seals: bool = True) -> Path:
    """Remove the evidence of a signed run, recorded by another one, and return the folder of the group's runs."""
    store.write("orders", "run-1", 1, "preflight", {"outcome": "done"})
    first = store.seal("orders", "run-1", key=KEY)
    rows = [{"run": "run-1", "digest": first.digest if lists else "ab"}]
    record = store.write("orders", "retention__1", 93, "retention", {"outcome": "done", "facts": {"runs": rows}})
    if seals:
        store.seal("orders", "retention__1", key=key, previous=link_to(first))
    folder = Path(str(store.root)) / "runs" / "orders"
    name = record.path.rpartition("/")[2]
    said = Tombstone("orders", "run-1", first.digest, "a rule", AT, "retention__1", name, record.sha256)
    remove_evidence(with_deadline(folder / "run-1"), said)
    return folder


def link_to(seal: Seal) -> PreviousSeal:
    return PreviousSeal(seal.run, seal.manifest, seal.digest)


def checked(folder: Path) -> SealedRunCheck:
    return check_sealed_run(folder / "run-1", trusted=KEY.public_pem)


def test_evidence_that_a_signed_record_lists_has_expired(store: EvidenceStore) -> None:
    found = checked(removed_run(store))
    assert (found.verdict, found.changed) == ("sound", ())
    assert "its evidence was removed on 2026-11-20 03:00:00 UTC by the rule a rule" in found.expired


@pytest.mark.parametrize(
    ("key", "lists", "seals", "said"),
    [
        (None, True, True, "it is not signed, and the run was"),
        (OTHER, True, True, "the trusted key is"),
        (KEY, False, True, "does not confirm"),
        (KEY, True, False, "it is not sealed"),
    ],
)
def test_a_removal_that_no_record_by_the_same_key_confirms_is_an_attack(
    store: EvidenceStore, key: SigningKey | None, lists: bool, seals: bool, said: str
) -> None:
    found = checked(removed_run(store, key=key, lists=lists, seals=seals))
    assert found.verdict == "changed"
    assert said in found.changed[0]
    assert "01-preflight.1.json (step preflight, attempt 1): it was sealed and is missing" in found.changed


def test_a_record_that_is_gone_or_was_edited_confirms_nothing(store: EvidenceStore) -> None:
    folder = removed_run(store)
    record = folder / "retention__1" / "93-retention.1.json"
    record.write_text(record.read_text() + " ")
    assert checked(folder).verdict == "changed"
    record.unlink()
    assert checked(folder).verdict == "changed"


def test_a_seal_that_was_removed_has_not_expired(store: EvidenceStore) -> None:
    folder = removed_run(store)
    (folder / "run-1" / "SHA256SUMS").unlink()
    assert checked(folder).verdict == "changed"


def test_a_note_about_another_run_removes_nothing(store: EvidenceStore) -> None:
    folder = removed_run(store)
    path = folder / "run-1" / "expired.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "digest": "ab"}))
    assert "it is about another run or another seal" in checked(folder).changed[0]
    path.write_text("no JSON")
    assert checked(folder).verdict == "changed"

"""``python -m kafka_dr verify`` of a list of stranded records names what was erased from it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafka_dr.audit.erasure import Erasure
from kafka_dr.audit.stranded import StrandedFile, StrandedList, StrandedStore
from kafka_dr.clock import ManualClock
from kafka_dr.command_line.app import app
from kafka_dr.command_line.verify_stranded import ERASE_STEP, erasure_file
from kafka_dr.evidence import EvidenceStore, digest
from kafka_dr.evidence.signing import SigningKey

KEY = SigningKey.generate()
AT = datetime(2026, 11, 20, 3, 0, tzinfo=UTC)
ERASURE = Erasure(
    1, "erase__1", AT, "dana", "request 4711", None, "ab" * 32, 2, (StrandedFile("records-a/part-0.parquet", 9, "cd"),)
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A list that holds no record any more, and the signed evidence of an erasure."""
    store = StrandedStore(tmp_path, "orders", "disaster")
    found = StrandedList("orders", "disaster", "east", "west", AT, {}, {}, ())
    store.write(found)
    erasure_file(store.folder, 1).write(ERASURE)
    evidence = EvidenceStore(tmp_path, ManualClock(start=AT))
    evidence.write("orders", "erase__1", 92, ERASE_STEP, {"outcome": "done", "facts": ERASURE.to_json()})
    evidence.seal("orders", "erase__1", key=KEY)
    (tmp_path / "trusted.pem").write_text(KEY.public_pem)
    return tmp_path / "stranded" / "orders" / "disaster"


def verified(folder: Path) -> tuple[int, str]:
    key = folder.parents[2] / "trusted.pem"
    found = CliRunner().invoke(app, ["verify", str(folder), "--key", str(key)])
    return found.exit_code, found.output


def test_it_names_the_file_who_had_it_erased_and_why_and_the_digest_to_compare(folder: Path) -> None:
    code, said = verified(folder)
    assert code == 3
    assert (
        "erased: records-a/part-0.parquet: records of it were erased on 2026-11-20 03:00:00 UTC by dana "
        "(request 4711); see run erase__1"
    ) in said
    found = StrandedStore(folder.parents[2], "orders", "disaster").read()
    assert found is not None
    assert digest(found.to_json()) in said


def test_an_erasure_that_its_sealed_evidence_does_not_confirm_is_a_change(folder: Path) -> None:
    path = folder / "erased-1.json"
    whole = path.read_text()
    path.write_text(whole.replace("dana", "mallory"))
    assert (verified(folder)[0], "not what the evidence of run erase__1 says" in verified(folder)[1]) == (1, True)
    path.write_text(json.dumps({"schema_version": 1}))
    assert verified(folder)[0] == 1
    path.write_text(whole)
    (folder.parents[2] / "runs" / "orders" / "erase__1" / f"92-{ERASE_STEP}.1.json").write_text("{}")
    code, said = verified(folder)
    assert (code, "is not what was sealed" in said) == (1, True)

"""``python -m kafka_dr verify`` of a list of stranded records names what was erased from it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from kafka_dr.approvals.journaled import BY_KEY
from kafka_dr.approvals.signed import public_line
from kafka_dr.audit.erasure import Erasure
from kafka_dr.audit.stranded import StrandedFile, StrandedList, StrandedStore
from kafka_dr.command_line.app import app
from kafka_dr.evidence.canonical import digest
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.evidence.store import EvidenceStore
from kafka_dr.retention.erasing import ERASE_STEP, Confirmation, erasure_file
from support.manual_clock import ManualClock
from support.sentences import assert_sentence

INCLUDE = Path(__file__).parents[3] / "include"
LAB = {
    "KAFKA_DR_LAB_HOME": "/lab",
    "KAFKA_DR_LAB_EAST": "127.0.0.1:1",
    "KAFKA_DR_LAB_WEST": "127.0.0.1:2",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}
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


def verified(folder: Path, *more: str) -> tuple[int, str]:
    key = folder.parents[2] / "trusted.pem"
    found = CliRunner().invoke(app, ["verify", str(folder), "--key", str(key), *more], env={"KAFKA_DR_TOPOLOGY": ""})
    return found.exit_code, found.output


def test_it_names_the_file_who_had_it_erased_and_why_and_the_digest_to_compare(folder: Path) -> None:
    code, said = verified(folder)
    assert code == 3
    assert_sentence(said)
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


def signed_erasure(folder: Path, key: SigningKey) -> None:
    """Let bob confirm the erasure with a key, in the list and in the evidence."""
    confirmed = Confirmation("bob", BY_KEY, key).of(ERASURE, "orders", "disaster")
    erasure_file(folder, 1).write(confirmed)
    evidence = EvidenceStore(folder.parents[2], ManualClock(start=AT))
    evidence.write("orders", "erase__1", 92, ERASE_STEP, {"outcome": "done", "facts": confirmed.to_json()})
    evidence.seal("orders", "erase__1", key=KEY)


def topology_with(folder: Path, keys: dict[str, str]) -> str:
    """Write a topology that declares keys of approvers, and return where."""
    declared = yaml.safe_load((INCLUDE / "topology.yaml").read_text())
    declared["protection_groups"]["orders"] |= {"approvers": ["alice", "bob"], "approver_keys": keys}
    path = folder.parents[2] / "topology.yaml"
    path.write_text(yaml.safe_dump(declared))
    return str(path)


def test_the_signature_of_the_approver_is_checked_with_the_declared_key(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in LAB.items():
        monkeypatch.setenv(name, value)
    bob = SigningKey.generate()
    signed_erasure(folder, bob)
    assert "the signature of bob was not checked: give --topology FILE" in verified(folder)[1]
    declared = topology_with(folder, {"bob": public_line(bob.public_pem)})
    assert_sentence(verified(folder, "--topology", declared)[1])


def test_an_erasure_that_somebody_else_signed_is_not_proven(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in LAB.items():
        monkeypatch.setenv(name, value)
    signed_erasure(folder, SigningKey.generate())
    for keys, said in (
        ({"bob": public_line(SigningKey.generate().public_pem)}, "or somebody else wrote it"),
        ({"alice": public_line(SigningKey.generate().public_pem)}, "declares no key of bob"),
    ):
        code, output = verified(folder, "--topology", topology_with(folder, keys))
        assert (code, "not proven: erased-1: " in output, said in output) == (3, True, True), output


def test_a_topology_that_cannot_be_used_is_named(folder: Path) -> None:
    path = folder.parents[2] / "broken.yaml"
    path.write_text("clusters: 3")
    code, said = verified(folder, "--topology", str(path))
    assert (code, "broken.yaml" in said) == (2, True), said

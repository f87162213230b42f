"""A sealed run is checked from its folders alone, and everything that was done to it afterwards is named."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafka_dr.evidence.seal import PreviousSeal, Seal
from kafka_dr.evidence.sealed_run_check import check_sealed_run
from kafka_dr.evidence.signing import SigningKey, UnusableKey, fingerprint
from kafka_dr.evidence.store import EvidenceStore
from support.manual_clock import ManualClock

KEY, OTHER = SigningKey.generate(), SigningKey.generate()


@pytest.fixture
def store(tmp_path: Path) -> EvidenceStore:
    return EvidenceStore(tmp_path, ManualClock(start=datetime(2026, 11, 20, 3, 0, tzinfo=UTC)))


def seal(store: EvidenceStore, run: str, previous: Seal | None = None, key: SigningKey | None = KEY) -> Seal:
    store.write("orders", run, 1, "preflight", {"outcome": "done", "seen": run})
    store.write("orders", run, 12, "report", {"outcome": "done"})
    link = PreviousSeal(previous.run, previous.manifest, previous.digest) if previous else None
    return store.seal("orders", run, previous=link, key=key)


@pytest.fixture
def chain(store: EvidenceStore) -> Path:
    """Three runs, each signed and linked to the one before it."""
    first = seal(store, "run-1")
    second = seal(store, "run-2", first)
    seal(store, "run-3", second)
    return Path(str(store.root)) / "runs" / "orders"


def test_a_signed_run_with_everything_before_it_is_sound(chain: Path) -> None:
    found = check_sealed_run(chain / "run-3", trusted=KEY.public_pem)
    assert (found.verdict, found.chain, found.seals) == ("sound", ("run-2", "run-1"), 1)
    assert (found.group, found.run, found.signer) == ("orders", "run-3", fingerprint(KEY.public_pem))


def test_without_a_trusted_key_a_signature_proves_only_that_one_key_signed(chain: Path) -> None:
    found = check_sealed_run(chain / "run-3")
    assert found.verdict == "unproven"
    assert fingerprint(KEY.public_pem) in found.unproven[0]


def test_an_edited_file_is_named_with_its_step(chain: Path) -> None:
    (chain / "run-3" / "01-preflight.1.json").write_text("{}")
    assert check_sealed_run(chain / "run-3", trusted=KEY.public_pem).changed == (
        "01-preflight.1.json (step preflight, attempt 1): its content is not what was sealed",
    )


def test_a_removed_and_an_added_file_are_named(chain: Path) -> None:
    (chain / "run-3" / "01-preflight.1.json").unlink()
    (chain / "run-3" / "13-roll_back.1.json").write_text("{}")
    said = " ".join(check_sealed_run(chain / "run-3", trusted=KEY.public_pem).changed)
    assert "step preflight, attempt 1): it was sealed and is missing" in said
    assert "step roll_back, attempt 1): it was added after the newest seal" in said


def test_a_run_that_was_edited_and_sealed_again_without_the_key_is_found(chain: Path, store: EvidenceStore) -> None:
    for name in [each.name for each in (chain / "run-3").iterdir()]:
        if not name.startswith(("01", "12")):
            (chain / "run-3" / name).unlink()
    (chain / "run-3" / "01-preflight.1.json").write_text('{"outcome": "done", "seen": "forged"}')
    manifest = json.loads((chain / "run-2" / "manifest.json").read_text())
    store.seal("orders", "run-3", previous=PreviousSeal("run-2", "manifest.json", manifest["digest"]), key=OTHER)
    found = check_sealed_run(chain / "run-3", trusted=KEY.public_pem)
    assert found.verdict == "changed"
    assert fingerprint(OTHER.public_pem) in found.changed[0]


def test_a_run_whose_signature_was_taken_away_is_unproven_and_never_sound(store: EvidenceStore) -> None:
    seal(store, "run-1", key=None)
    folder = Path(str(store.root)) / "runs" / "orders" / "run-1"
    found = check_sealed_run(folder, trusted=KEY.public_pem)
    assert (found.verdict, found.signer) == ("unproven", "")


@pytest.mark.parametrize("name", ["SHA256SUMS", "SHA256SUMS.sig", "signer.pem", "manifest.json"])
def test_no_proof_of_a_signed_seal_can_be_damaged_or_removed(chain: Path, name: str) -> None:
    file = chain / "run-3" / name
    file.write_bytes(b"\0" * 64)
    assert check_sealed_run(chain / "run-3", trusted=KEY.public_pem).verdict == "changed"
    file.unlink()
    assert check_sealed_run(chain / "run-3", trusted=KEY.public_pem).verdict != "sound"


def test_a_run_that_was_removed_from_the_chain_is_named(chain: Path) -> None:
    shutil.rmtree(chain / "run-2")
    found = check_sealed_run(chain / "run-3", trusted=KEY.public_pem)
    assert found.changed == ("run run-2: its seal manifest.json came before this one and is missing",)


def test_a_run_of_the_chain_that_was_replaced_is_named(chain: Path, store: EvidenceStore) -> None:
    shutil.rmtree(chain / "run-1")
    seal(store, "run-1", key=OTHER)
    assert check_sealed_run(chain / "run-3", trusted=KEY.public_pem).changed == (
        "run run-1: its seal manifest.json is not the one that came before this one",
    )


def test_a_run_that_was_sealed_twice_is_checked_seal_by_seal(chain: Path, store: EvidenceStore) -> None:
    store.write("orders", "run-3", 13, "resume", {"outcome": "done"})
    first = json.loads((chain / "run-3" / "manifest.json").read_text())
    store.seal("orders", "run-3", previous=PreviousSeal("run-3", "manifest.json", first["digest"]), key=KEY)
    found = check_sealed_run(chain / "run-3", trusted=KEY.public_pem)
    assert (found.verdict, found.seals, found.chain) == ("sound", 2, ("run-3", "run-2", "run-1"))


def test_a_folder_that_was_never_sealed_proves_nothing(chain: Path, store: EvidenceStore) -> None:
    store.write("orders", "run-4", 1, "preflight", {"outcome": "done"})
    found = check_sealed_run(chain / "run-4", trusted=KEY.public_pem)
    assert (found.verdict, found.seals) == ("unproven", 0)


def test_openssl_and_sha256sum_alone_agree(chain: Path) -> None:
    folder = chain / "run-3"
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=folder, check=True, capture_output=True)  # noqa: S607
    asked = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "signer.pem", "-rawin"]
    checked = [*asked, "-in", "SHA256SUMS", "-sigfile", "SHA256SUMS.sig"]
    subprocess.run(checked, cwd=folder, check=True, capture_output=True)
    (folder / "SHA256SUMS").write_text((folder / "SHA256SUMS").read_text().replace("0", "1"))
    assert subprocess.run(checked, cwd=folder, check=False, capture_output=True).returncode != 0


def test_the_fingerprint_is_what_openssl_says(tmp_path: Path) -> None:
    (tmp_path / "signer.pem").write_text(KEY.public_pem)
    der = subprocess.run(
        ["openssl", "pkey", "-pubin", "-in", "signer.pem", "-outform", "DER"],  # noqa: S607
        cwd=tmp_path,
        check=True,
        capture_output=True,
    ).stdout
    told = subprocess.run(["sha256sum"], input=der, check=True, capture_output=True).stdout  # noqa: S607
    assert told.split()[0].decode() == fingerprint(KEY.public_pem)


@pytest.mark.parametrize("pem", ["", "secret", OTHER.public_pem])
def test_what_is_no_private_key_is_refused_in_one_sentence(pem: str) -> None:
    with pytest.raises(UnusableKey, match="expected an unencrypted Ed25519 private key in PEM"):
        SigningKey.of(pem)


def test_a_key_is_read_back_from_its_own_pem() -> None:
    again = SigningKey.of(KEY.private_pem)
    assert again.public_pem == KEY.public_pem

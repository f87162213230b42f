"""``python -m kafka_dr verify`` says what is wrong with a sealed run, in words, as JSON and as an exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafka_dr.command_line.app import app
from kafka_dr.evidence.signing import SigningKey, fingerprint
from kafka_dr.evidence.store import EvidenceStore
from support.manual_clock import ManualClock

KEY = SigningKey.generate()
INCLUDE = Path(__file__).parents[3] / "include"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A signed run."""
    store = EvidenceStore(tmp_path, ManualClock(start=datetime(2026, 11, 20, 3, 0, tzinfo=UTC)))
    store.write("orders", "run-1", 4, "drain", {"outcome": "done"})
    store.seal("orders", "run-1", key=KEY)
    (tmp_path / "trusted.pem").write_text(KEY.public_pem)
    return tmp_path / "runs" / "orders" / "run-1"


def run(*arguments: object) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["verify", *map(str, arguments)])
    return found.exit_code, found.output


def test_a_sound_run_ends_with_zero_and_names_the_key(folder: Path, tmp_path: Path) -> None:
    code, said = run(folder, "--key", tmp_path / "trusted.pem")
    assert code == 0
    assert said.splitlines()[:2] == [
        "run run-1 of orders",
        "SOUND: every file is what was sealed, the trusted key signed it, and no earlier seal is missing",
    ]
    assert fingerprint(KEY.public_pem) in said


def test_a_changed_run_ends_with_one_and_names_file_and_step(folder: Path, tmp_path: Path) -> None:
    (folder / "04-drain.1.json").write_text("{}")
    code, said = run(folder, "--key", tmp_path / "trusted.pem")
    assert code == 1
    assert "changed: 04-drain.1.json (step drain, attempt 1): its content is not what was sealed" in said


def test_a_run_whose_key_nobody_named_is_not_proven(folder: Path) -> None:
    assert run(folder)[0] == 3


def test_a_program_gets_one_json_object(folder: Path, tmp_path: Path) -> None:
    code, said = run(folder, "--key", tmp_path / "trusted.pem", "--json")
    found = json.loads(said)
    assert (code, found["verdict"], found["run"], found["changed"]) == (0, "sound", "run-1", [])


@pytest.mark.parametrize("name", ["missing", "trusted.pem"])
def test_what_is_no_run_folder_is_refused(folder: Path, tmp_path: Path, name: str) -> None:
    code, said = run(tmp_path / name)
    assert code == 2
    assert "name a run's folder" in said


def test_what_is_no_key_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "no.pem").write_text("no key")
    code, said = run(folder, "--key", tmp_path / "no.pem")
    assert code == 2
    assert "expected an Ed25519 public key in PEM" in said


def test_a_file_that_was_named_to_paint_the_terminal_cannot(folder: Path, tmp_path: Path) -> None:
    (folder / "\x1b[2Jall is well").write_text("")
    code, said = run(folder, "--key", tmp_path / "trusted.pem")
    assert code == 1
    assert "\x1b" not in said


def test_the_module_is_a_command(folder: Path, tmp_path: Path) -> None:
    asked = [sys.executable, "-m", "kafka_dr", "verify", str(folder), "--key", str(tmp_path / "trusted.pem")]
    found = subprocess.run(
        asked, check=False, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(INCLUDE)}
    )
    assert (found.returncode, found.stderr) == (0, "")
    assert "SOUND" in found.stdout

"""A private key is written once, for its owner alone, and is not read where others could have read it."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafka_dr.approvals.signed import public_line
from kafka_dr.command_line.app import app
from kafka_dr.command_line.keys import read_key
from kafka_dr.errors import Refused


def test_keygen_writes_a_private_file_and_prints_what_the_topology_needs(tmp_path: Path) -> None:
    file = tmp_path / "alice.pem"
    made = CliRunner().invoke(app, ["keygen", str(file), "--json"])
    assert made.exit_code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(made.stdout)["public_key"] == public_line(read_key(file).public_pem)
    assert "PRIVATE" not in made.output
    before = file.read_bytes()
    assert CliRunner().invoke(app, ["keygen", str(file)]).exit_code == 2
    assert file.read_bytes() == before


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "alice.pem"
    CliRunner().invoke(app, ["keygen", str(file)])
    file.chmod(0o640)
    with pytest.raises(Refused, match="has the mode 0640, expected 0600"):
        read_key(file)


def test_every_command_says_its_exit_codes() -> None:
    listed = CliRunner().invoke(app, ["--help"]).stdout.partition("Commands:")[2]
    commands = [line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "]
    assert {"status", "plan", "failover", "failback", "resume", "abandon", "approve", "verify"} <= set(commands)
    silent = [name for name in commands if "Exit codes: 0" not in CliRunner().invoke(app, [name, "--help"]).stdout]
    assert silent == []

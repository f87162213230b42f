"""Two runs of a group that are sealed at once: a register decides which is first, and the chain has both."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event

import pytest

from kafka_dr.evidence.sealed_run_check import check_sealed_run
from kafka_dr.runs import sealing
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.sealing import seal_run
from support.failing_storage import StoredClients


def kept(clients: StoredClients, run: str) -> None:
    Attempt.start("orders", run, clients, "report", 12).end(clients, "done", "measured")


def folder_of(clients: StoredClients, run: str) -> Path:
    return Path(str(clients.evidence_root)) / "runs" / "orders" / run


def test_the_run_whose_number_is_taken_is_sealed_again_after_the_other_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = StoredClients(tmp_path)
    for run in ("run-1", "run-2", "run-3"):
        kept(clients, run)
    seal_run(clients, "orders", "run-1")
    before = sealing._histories(clients, "orders")
    seal_run(clients, "orders", "run-2")
    with monkeypatch.context() as at_once:
        # This process read the registers before the other one had written its seal.
        at_once.setattr(sealing, "_histories", lambda *_: before)
        seal_run(clients, "orders", "run-3")

    assert check_sealed_run(folder_of(clients, "run-3")).chain == ("run-2", "run-1")
    assert check_sealed_run(folder_of(clients, "run-2")).chain == ("run-1",)
    history = clients.registers["west"].history("orders")
    assert [history[run]["sealed"]["sequence"] for run in ("run-1", "run-2", "run-3")] == [1, 2, 3]
    # A fourth run follows the newest of them, and sealing without news changes nothing.
    kept(clients, "run-4")
    seal_run(clients, "orders", "run-4")
    names = sorted(path.name for path in folder_of(clients, "run-3").iterdir())
    seal_run(clients, "orders", "run-3")
    assert sorted(path.name for path in folder_of(clients, "run-3").iterdir()) == names
    assert check_sealed_run(folder_of(clients, "run-4")).chain == ("run-3", "run-2", "run-1")


def test_a_register_that_takes_no_seal_keeps_no_run_from_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of a cluster that is given up can be read, and each change waits for replicas that are down."""
    clients, left = StoredClients(tmp_path), Event()
    kept(clients, "run-1")
    monkeypatch.setattr(sealing, "_REGISTER_SECONDS", 0.1)
    decides = next(iter(clients.topology.group("orders").clusters))
    monkeypatch.setattr(clients.registers[decides], "add_fact", lambda *_: left.wait(20))
    began = time.monotonic()
    try:
        seal_run(clients, "orders", "run-1")
        assert time.monotonic() - began < 10
    finally:
        left.set()
    assert check_sealed_run(folder_of(clients, "run-1")).chain == ()

"""``approve`` finds the question of a run in the register that answers, and does not ask about another verb first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from kafka_dr.approvals.journaled import AskedQuestion
from kafka_dr.command_line import approve
from kafka_dr.command_line.approve import _question
from kafka_dr.errors import Refused
from kafka_dr.people import Person
from kafka_dr.register.transitions import adopted
from kafka_dr.runs.background import BackgroundCall
from kafka_dr.runs.request import StepName
from support.failing_storage import StoredClients

NOW = datetime(2026, 11, 23, 3, tzinfo=UTC)


class HangingEast(StoredClients):
    """East's register answers only when the test has ended."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.over = Event()

    def register(self, cluster: str) -> Any:
        """Return a register."""
        if cluster == "east":
            self.over.wait(120)
        return super().register(cluster)


def test_the_question_of_an_unplanned_run_is_found_although_its_source_hangs(tmp_path: Path) -> None:
    clients = HangingEast(tmp_path)
    group = next(iter(clients.topology.protection_groups))
    clients.registers["west"].copy(adopted(group, active="east", standbys=["west"], run="adoption", at=NOW))
    asked = AskedQuestion("unplanned_failover", 1, "d", "f", NOW, NOW + timedelta(hours=1), (Person("alice", "alice"),))
    clients.registers["west"].add_fact(group, "at-night", "question.1", asked.to_json())
    try:
        run, step, found = BackgroundCall("the question", lambda: _question(group, "at-night", clients)).within(60)
    finally:
        clients.over.set()
    assert (run.request.verb, step, found) == ("unplanned_failover", StepName.APPROVAL, asked)


def test_without_a_question_the_register_that_did_not_answer_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approve, "NEEDED_SECONDS", 0.2)
    clients = StoredClients(tmp_path)
    clients.silent = {"east"}
    group = next(iter(clients.topology.protection_groups))
    with pytest.raises(Refused, match=r"no register has an open question of run other .*\(no answer from east\)"):
        _question(group, "other", clients)

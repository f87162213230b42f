"""Which question of another run still waits: one that is neither answered, nor expired, nor followed by a claim."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.approvals.journaled import AskedQuestion
from kafka_dr.approvals.open_questions import no_other_run_waits, unanswered
from kafka_dr.errors import TryAgain
from kafka_dr.people import Person

NOW = datetime(2026, 11, 27, 1, 0, tzinfo=UTC)


def asked(*, minutes: float = 10) -> dict[str, Any]:
    people = (Person("alice", "1"), Person("bob", "2"))
    expires = NOW + timedelta(minutes=minutes)
    return AskedQuestion("planned_failover", 1, "d", "f", NOW, expires, people, "carol").to_json()


@pytest.mark.parametrize(
    ("facts", "waits"),
    [
        ({"question.1": asked()}, True),
        ({"question.1": asked(minutes=-1), "question.2": asked()}, True),
        ({"question.1": asked(), "answer.1": {}, "second_question.1": asked()}, True),
        ({"question.1": asked(minutes=-1)}, False),
        ({"question.1": asked(), "answer.1": {"approved": True}}, False),
        ({"question.1": asked(), "claim": {}}, False),
        ({"question.1": {"verb": "planned_failover"}}, False),
        ({"sealed": {}}, False),
    ],
)
def test_a_question_waits_until_it_is_answered_or_expires(facts: dict[str, Any], waits: bool) -> None:
    assert (unanswered(facts, NOW) is not None) is waits


def outcome(*, verb: str = "planned_failover", override: str = "", dry_run: bool = False, runs: bool = True) -> str:
    def history(cluster: str) -> dict[str, Any]:
        if cluster == "lost":
            raise TryAgain("it does not answer")
        return {"run-1": {"question.1": asked()}} if cluster == "east" else {}

    run: Any = SimpleNamespace(
        request=SimpleNamespace(run="run-2", verb=verb, override=override, dry_run=dry_run),
        declared=SimpleNamespace(name="orders", clusters=("east", "west")),
        target="east" if verb == "unplanned_failover" else "west",
        clients=SimpleNamespace(
            register=lambda cluster: SimpleNamespace(history=lambda _group: history(cluster)),
            executor=SimpleNamespace(
                still_runs=lambda verb, run: runs and (verb, run) == ("planned_failover", "run-1")
            ),
            clock=SimpleNamespace(now=lambda: NOW),
        ),
    )
    return no_other_run_waits(run).outcome


def test_a_second_run_is_refused_while_one_waits_whichever_register_knows_it() -> None:
    assert outcome() == "failed"
    assert outcome(verb="failback") == "failed"
    assert outcome(verb="unplanned_failover") == "failed"


def test_it_is_in_nobodys_way_that_is_a_dry_run_has_an_override_or_finds_an_end() -> None:
    assert outcome(dry_run=True) == "ok"
    assert outcome(verb="unplanned_failover", override="the site burns") == "overridden"
    assert outcome(runs=False) == "ok"

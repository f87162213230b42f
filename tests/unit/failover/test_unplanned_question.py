"""What an approver of an unplanned failover reads: what is unknown is called unknown."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.failover.unplanned.question import loss_sentence, sheet
from kafka_dr.topology.flow import FlowSpec

FOUR = [{"topic": "orders.payments", "partitions": 4}]
EXPIRES = datetime(2026, 11, 20, 3, 15, tzinfo=UTC)


def shown(outcome: str = "ok", **decision: Any) -> str:
    facts = {
        "decision": {"partitions": FOUR, "override": "", "taken_from": "", **decision},
        "digest": "4f2a",
        "measurements": {
            "predicted_loss": {"at_least_records": 30, "as_of": "2026-11-20T02:59:00+00:00", "reason": "seen"},
            "groups": [
                {"group": "orders-a", "class": "bounded", "redelivered_at_most": 12},
                {"group": "orders-b", "class": "bounded", "redelivered_at_most": None},
            ],
            "probes": [{"name": "metadata", "outcome": "failed", "detail": "east does not answer"}],
            "more_than_offsets": ["orders-shared is a share group"],
            "could_not_be_checked": ["open transactions"],
        },
    }
    check = {"name": "source_is_down", "outcome": outcome, "detail": "seen by this installation, office"}
    run: Any = SimpleNamespace(
        group=SimpleNamespace(name="orders", flow=FlowSpec()),
        source="east",
        target="west",
        request=SimpleNamespace(
            reason="the hall is dark", override=decision.get("override", ""), dry_run=False, verb="unplanned_failover"
        ),
    )
    found = sheet(run, {"facts": facts, "checks": [check], "finished_at": "2026-11-20T03:00:00+00:00"})
    body = found.body(expires_at=EXPIRES, digest="4f2a", page="/kafka-dr/evidence/orders/r1")
    return "\n\n".join((found.subject, body.replace("\\", ""), found.written()))


def test_loss_is_a_lower_bound_with_its_time() -> None:
    assert "**What is lost**: 30 records until 02:59:00 UTC; since then (60 s) not known." in shown()


def test_a_group_that_no_offset_moves_is_named() -> None:
    assert "⚠ orders-shared is a share group" in shown()


def test_an_unknown_loss_is_never_called_no_loss() -> None:
    unknown = {"at_least_records": None, "as_of": None, "reason": "east was never looked at while it was up"}
    assert loss_sentence(unknown) == "not known: east was never looked at while it was up"


@pytest.mark.parametrize(
    "sentence",
    [
        "orders-a: bounded, at most 12 records read again; orders-b: bounded, how much is read again is not known",
        "**All 1 checks ok** (as of 03:00:00 UTC): `source_is_down`",
        "* **failed** `metadata`: east does not answer.",
        "**Could not be checked**: open transactions",
        "may be separated: some are copied, others are not",
        "Digest of the facts: `4f2a`",
        "[All of the evidence](/kafka-dr/evidence/orders/r1)",
        "**Until when**: the approval counts until 2026-11-20 03:15:00 UTC.",
        "Unplanned failover: give up east and move orders to west?",
        "```text\nthe hall is dark\n```",
    ],
)
def test_the_form_shows_what_was_seen_and_what_could_not_be(sentence: str) -> None:
    assert sentence in shown()


def test_an_override_and_a_run_that_is_taken_over_are_warnings() -> None:
    told = shown("overridden", override="one vantage is all we have", taken_from="run-7")
    assert "⚠ **A rule that forbids this is overridden.**" in told
    assert "* **overridden** `source_is_down`: seen by this installation, office." in told
    assert told.endswith("```text\nthe hall is dark\n```")
    assert "```text\none vantage is all we have\n```" in told
    assert "takes the group from run `run-7`, which died while switching" in told
    assert "overridden" not in shown()


def test_an_override_that_the_rule_did_not_need_is_named_as_such() -> None:
    assert "⚠ The requester has overridden the rule, although it holds at the moment." in shown(override="just in case")

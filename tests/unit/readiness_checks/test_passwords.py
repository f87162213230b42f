"""A password that ends soon is named; one of which nobody declared an end is named, too, and never good."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from kafka_dr.outcomes import CheckOutcome
from kafka_dr.readiness_checks.passwords import judge_passwords
from kafka_dr.topology.cluster import PasswordEnd
from support.sentences import assert_sentence

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        (date(2026, 2, 28), "failed"),
        (date(2026, 3, 1), "failed"),
        (date(2026, 3, 2), "warning"),
        (date(2026, 3, 31), "warning"),
        (date(2026, 4, 1), "ok"),
        ("never", "ok"),
        (None, "warning"),
    ],
)
def test_a_password_counts_until_its_declared_day_begins(end: PasswordEnd | None, outcome: CheckOutcome) -> None:
    assert judge_passwords({"operator on east": end}, NOON).outcome == outcome


def test_what_nobody_declared_is_said_by_name_and_is_not_good() -> None:
    found = judge_passwords({"probe on west": None, "operator on east": "never"}, NOON)
    assert found.outcome == "warning"
    assert_sentence(found.detail)
    assert "Set passwords_end" in found.detail


def test_the_worst_comes_first() -> None:
    gone, soon = date(2026, 1, 1), date(2026, 3, 10)
    found = judge_passwords({"a on east": None, "b on east": soon, "c on east": gone}, NOON)
    assert found.outcome == "failed"
    assert_sentence(found.detail)
    found = judge_passwords({"a on east": None, "b on east": soon}, NOON)
    assert found.outcome == "warning"
    assert_sentence(found.detail)


def test_connections_without_passwords_need_no_day() -> None:
    assert judge_passwords({}, NOON).outcome == "ok"

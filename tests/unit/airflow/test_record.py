"""What a task makes of what the core tells it."""

from __future__ import annotations

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from kafka_dr.errors import KafkaDrError, NeedsPerson, OutcomeUnknown, Refused, TryAgain
from kafka_dr_airflow.links import evidence_url
from kafka_dr_airflow.operators.record import plain_errors, run_request


@pytest.mark.parametrize("error", [TryAgain, OutcomeUnknown])
def test_what_may_succeed_later_is_left_to_retries(error: type[KafkaDrError]) -> None:
    with pytest.raises(AirflowException, match=r"^the sentence$") as raised, plain_errors():
        raise error("the sentence")
    assert not isinstance(raised.value, AirflowFailException)


@pytest.mark.parametrize("error", [Refused, NeedsPerson, KafkaDrError])
def test_what_cannot_succeed_later_is_not_tried_again(error: type[KafkaDrError]) -> None:
    with pytest.raises(AirflowFailException, match=r"^the sentence$"), plain_errors():
        raise error("the sentence")


def test_what_was_asked_for_is_read_from_the_runs_parameters() -> None:
    params = {"protection_group": "orders", "source": "east", "target": None, "dry_run": True, "reason": "drill"}
    request = run_request({"params": params, "run_id": "r1"}, "planned_failover")
    assert (request.protection_group, request.source, request.target) == ("orders", "east", None)
    assert (request.run, request.dry_run, request.reason) == ("r1", True, "drill")


def test_a_cluster_left_open_in_a_free_text_form_is_left_to_the_register() -> None:
    request = run_request(
        {"params": {"protection_group": "orders", "source": "", "target": ""}, "run_id": "r"}, "drill"
    )
    assert (request.source, request.target) == (None, None)


def test_the_evidence_page_of_a_run_has_an_address_of_its_own() -> None:
    url = evidence_url("orders", "manual__2026-11-20T03:00:00+00:00")
    assert url == "/kafka-dr/evidence/orders/manual__2026-11-20T03%3A00%3A00%2B00%3A00"

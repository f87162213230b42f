"""An attempt ends in a record, whatever ended it; nobody hears of it before it is in the evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_dr.clusters import ClientSettings
from kafka_dr.errors import KafkaDrError, NeedsPerson, OutcomeUnknown, Refused, TryAgain
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.outcomes import Check
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import EVIDENCE_IS_WHOLE, StepFailed, StepOutcome
from kafka_dr.runs.request import VERBS, RunRequest
from kafka_dr.topology.declared import UnknownName
from kafka_dr.topology.loading import load
from support import mirrormaker
from support.manual_clock import ManualClock
from support.no_connections import NO_CONNECTIONS

TOPOLOGY = Path(__file__).parents[3] / "include" / "topology.yaml"
LAB = {
    "KAFKA_DR_LAB_HOME": "/lab",
    "KAFKA_DR_LAB_EAST": "127.0.0.1:1",
    "KAFKA_DR_LAB_WEST": "127.0.0.1:2",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}
REQUEST = RunRequest("orders", "manual__1")


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[Clients]:
    """Clients that reach nothing but the evidence."""

    found = Clients(load(TOPOLOGY, LAB), connections=NO_CONNECTIONS, evidence_root=tmp_path, clock=ManualClock())
    yield found
    found.close()


def ended_by(error: Exception, clients: Clients, *, refusal: StepOutcome = "failed") -> StepFailed:
    def work() -> tuple[StepOutcome, str]:
        raise error

    with pytest.raises(StepFailed) as failed:
        Attempt.start(REQUEST.protection_group, REQUEST.run, clients, "drain", 5).carry_out(
            clients, work, refusal=refusal
        )
    return failed.value


def kept(clients: Clients) -> tuple[str, str]:
    found = clients.evidence.newest("orders", "manual__1", "drain")
    assert found is not None
    return found["outcome"], found["detail"]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (OutcomeUnknown("nobody knows"), "unknown"),
        (NeedsPerson("somebody has to look"), "unknown"),
        (TryAgain("not yet"), "failed"),
        (KafkaDrError("it broke"), "failed"),
        (Refused("not allowed"), "failed"),
    ],
)
def test_each_error_is_an_outcome_that_is_kept(clients: Clients, error: KafkaDrError, outcome: str) -> None:
    assert ended_by(error, clients).record.outcome == outcome
    assert kept(clients) == (outcome, str(error))


def test_whoever_asks_says_what_a_refusal_means(clients: Clients) -> None:
    assert ended_by(Refused("not allowed"), clients, refusal="refused").record.outcome == "refused"


def test_a_mistake_of_the_program_is_kept_and_shows_where_it_came_from(clients: Clients) -> None:
    mistake = ZeroDivisionError("division by zero")
    assert ended_by(mistake, clients).__cause__ is mistake
    assert kept(clients) == (
        "failed",
        "a mistake of this program stopped it (zero division): the log has its traceback; report it",
    )


def test_what_the_work_says_is_the_outcome(clients: Clients) -> None:
    record = Attempt.start(REQUEST.protection_group, REQUEST.run, clients, "drain", 5).carry_out(
        clients, lambda: ("done", "all is there")
    )
    assert (record.outcome, record.detail) == kept(clients) == ("done", "all is there")


def a_leak(clients: Clients, *, goes_forward: bool) -> Attempt:
    """Return an attempt whose facts hold a password that is in use."""
    clients.evidence.secrets.add("correct horse battery")
    attempt = Attempt.start(REQUEST.protection_group, REQUEST.run, clients, "drain", 5, goes_forward=goes_forward)
    attempt.checks = (Check("reachable", "ok", "correct horse battery"),)
    attempt.proofs = (Check("opened", "ok", "as it was", {"by": "correct horse battery"}),)
    attempt.facts = {"groups": ["correct horse battery"]}
    return attempt


def test_a_step_whose_evidence_is_refused_leaves_that_it_failed(clients: Clients) -> None:
    with pytest.raises(StepFailed, match="was not written to evidence") as failed:
        a_leak(clients, goes_forward=False).carry_out(clients, lambda: ("done", "all is there"))

    found = clients.evidence.newest("orders", "manual__1", "drain")
    assert found is not None
    assert (found["outcome"], found["facts"], found["intent"]) == ("failed", {}, [])
    assert [(each["name"], each["outcome"], each["detail"]) for each in found["checks"]] == [
        ("reachable", "ok", "not kept")
    ]
    assert "The value at checks[0].detail was not written" in found["detail"]
    assert failed.value.record.detail == found["detail"]
    assert "correct horse battery" not in str((found, failed.value.record))


def test_a_run_that_can_only_be_finished_continues_and_the_evidence_says_what_it_lacks(clients: Clients) -> None:
    record = a_leak(clients, goes_forward=True).carry_out(clients, lambda: ("done", "all is there"))

    found = clients.evidence.newest("orders", "manual__1", "drain")
    assert found is not None
    assert record.outcome == found["outcome"] == "done"
    assert [(each["name"], each["outcome"]) for each in found["proofs"]] == [
        ("opened", "ok"),
        (EVIDENCE_IS_WHOLE, "excused"),
    ]
    clients.evidence.seal("orders", "manual__1")
    page = clients.evidence.page("orders", "manual__1")
    assert page is not None
    assert "The evidence of drain is not complete: The value at" in page
    assert "correct horse battery" not in str((found, record, page))


def test_what_a_connection_hides_is_refused_from_the_moment_it_is_resolved(tmp_path: Path) -> None:
    secrets = ("password-of-operator", "password-of-key", "password-of-connect", "token-of-connect")
    settings = ClientSettings("east:9092", "SASL_SSL", "PLAIN", "operator", secrets[0], key_password=secrets[1])
    endpoints = {
        "connect_east": HttpEndpoint("http://east:8083", "operator", secrets[2]),
        "connect_west": HttpEndpoint("https://west:8083", token=secrets[3]),
    }
    with Clients(
        load(TOPOLOGY, LAB),
        connections=replace(NO_CONNECTIONS, kafka=lambda connection: settings, http=endpoints.__getitem__),
        evidence_root=tmp_path,
        clock=ManualClock(),
    ) as clients:
        assert not any(map(clients.evidence.secrets.inside, secrets))
        clients.cluster("east", "operator")
        mirrormaker.connect(clients, "east")
        mirrormaker.connect(clients, "west")
        assert all(map(clients.evidence.secrets.inside, secrets))


def test_what_failed_stays_failed_also_in_a_run_that_can_only_be_finished(clients: Clients) -> None:
    with pytest.raises(StepFailed) as failed:
        a_leak(clients, goes_forward=True).carry_out(clients, lambda: ("unknown", "nobody knows"))
    assert failed.value.record.outcome == "unknown"


def test_what_has_no_form_in_json_is_refused_with_a_word_about_it_too(clients: Clients) -> None:
    attempt = Attempt.start(REQUEST.protection_group, REQUEST.run, clients, "drain", 5)
    attempt.facts = {"groups": [{"group": "lone \ud800 surrogate"}]}
    with pytest.raises(StepFailed, match="cannot be written in UTF-8"):
        attempt.carry_out(clients, lambda: ("done", "all is there"))
    assert kept(clients)[0] == "failed"


def test_from_the_hand_over_on_a_run_goes_forward() -> None:
    forward = {verb: [step.name for step in rules.steps if step.goes_forward] for verb, rules in VERBS.items()}
    assert forward["planned_failover"] == ["open_target", "flip_route", "verify", "start_reverse_flow", "report"]
    assert forward["unplanned_failover"] == ["open_target", "flip_route", "verify", "settle", "report"]
    assert forward["failback"] == ["rescue", "prepare_old_cluster", "reverse_flow", "catch_up", "settle", "report"]


def test_nothing_is_kept_of_a_group_that_the_topology_does_not_declare(clients: Clients, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no protection group 'nosuch'"):
        Attempt.start("nosuch", REQUEST.run, clients, "preflight", 1)
    assert list(tmp_path.iterdir()) == []

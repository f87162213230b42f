"""A healthy cluster that refuses our login is never given up for that, and no step waits for it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator

import pytest

from kafka_dr.clusters import ClientSettings
from kafka_dr.connections.port import Connections
from kafka_dr.disaster.disaster_rule import judge
from kafka_dr.disaster.probes import ask_vantages, take_probes
from kafka_dr.health.health_check import check_health
from kafka_dr.outcomes import Probe
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import StepName
from kafka_dr.verbs.switch import SwitchStopped, switch
from kafka_dr.verbs.switch_rules import NextMove
from lab.api import Lab
from support.protection import Protection
from support.switched_group import failed

pytestmark = pytest.mark.kafka

MISTAKES: dict[str, tuple[dict[str, object], str]] = {
    "a rotated password": ({"password": "rotated"}, "refuses the login of"),
    "a host name that is not known": ({"bootstrap_servers": "nosuch.invalid:9092"}, "nosuch.invalid is unknown here"),
    "no login": (
        {"security_protocol": "PLAINTEXT", "sasl_mechanism": None, "username": None, "password": None},
        "wants a login",
    ),
}


@dataclasses.dataclass
class Mistaken(Protection):
    """A protection group whose connections of one role and cluster are wrong."""

    wrong: str = ""
    mistake: dict[str, object] = dataclasses.field(default_factory=dict)

    def connections(self) -> Connections:
        real = super().connections()

        def kafka(connection: str) -> ClientSettings:
            found = real.kafka(connection)
            return dataclasses.replace(found, **self.mistake) if connection == self.wrong else found  # type: ignore[arg-type]

        return dataclasses.replace(real, kafka=kafka)


@pytest.fixture(scope="module")
def group(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mistaken]:
    made = Mistaken(lab, tmp_path_factory.mktemp("mistaken"))
    made.changes["timing"] = made.group.timing.model_copy(update={"confirm_seconds": 0.2})
    made.changes["disaster"] = made.group.disaster.model_copy(
        update={"probe_seconds": 3.0, "vantages_needed": 1, "down_when": ("unreachable", "writes_fail")}
    )
    made.create()
    made.adopt()
    yield made
    made.delete_flows()


def evidence(group: Mistaken, clients: Clients, run: str) -> StepRecord:
    request = group.request(run, source="east", target="west", verb="unplanned_failover", acknowledged=True)
    return failed(StepName.GATHER_EVIDENCE, request, clients)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_operators_connection_is_no_sign_of_a_disaster(mistake: str, group: Mistaken) -> None:
    changes, said = MISTAKES[mistake]
    group.wrong, group.mistake = "kafka_east_operator", changes
    with group.clients() as clients:
        record = evidence(group, clients, f"mistaken-{len(changes)}-{len(mistake)}")
    down = {check.name: check for check in record.checks}["source_is_down"]
    assert down.outcome == "unknown"
    assert said in down.detail
    assert "kafka_east_operator" in down.detail


def test_a_register_that_did_not_answer_because_of_our_login_is_no_sign_either(group: Mistaken) -> None:
    group.wrong, group.mistake = "kafka_east_operator", {"password": "rotated"}
    with group.clients() as clients:
        clients.hurry("east", 3.0)
        metadata = _named(ask_vantages(group.group, clients, source="east", seconds=5), "metadata")
    assert (metadata.name, metadata.outcome) == ("metadata", "unknown")
    assert "refuses the login of dr-operator" in metadata.detail


@pytest.mark.parametrize(("right", "said"), [("rotated", "refuses the login of"), ("", "lacks the right to write")])
def test_a_probe_that_may_not_log_in_or_not_write_is_no_sign_that_writes_fail(
    right: str, said: str, group: Mistaken
) -> None:
    group.wrong, group.mistake = "kafka_east_probe", {"password": right}
    if not right:
        reader = ClientSettings.from_librdkafka(group.lab.client_settings("east", "audit"))
        group.mistake = {"username": reader.username, "password": reader.password}
    with group.clients() as clients:
        probes = take_probes(group.group, clients, source="east", target="west")
    writes = _named(probes, "writes")
    assert writes.outcome == "unknown"
    assert said in writes.detail
    assert judge("east", probes, group.group.disaster).answer == "up"


def test_a_switch_ends_at_once_if_the_register_that_decides_refuses_our_login(group: Mistaken) -> None:
    group.wrong, group.mistake = "kafka_east_operator", {"password": "rotated"}
    request = group.request("switch-with-a-wrong-password", source="east", target="west")
    began = time.monotonic()
    with group.clients() as clients, pytest.raises(SwitchStopped) as stopped:
        switch(request, clients, _Unwatched())
    assert time.monotonic() - began < 30
    assert stopped.value.move is NextMove.LATER
    assert "connection kafka_east_operator" in str(stopped.value)
    assert "correct the name or the password in connection kafka_east_operator" in str(stopped.value)


def test_health_names_the_login_and_calls_no_cluster_silent(group: Mistaken) -> None:
    group.wrong, group.mistake = "kafka_east_operator", {"password": "rotated"}
    with group.clients() as clients:
        sentences = " ".join(check_health(group.name, clients).sentences)
    assert "refuses the login of dr-operator" in sentences
    assert "does not answer" not in sentences


def test_a_probe_that_logs_in_as_another_principal_than_the_declared_one_is_named(group: Mistaken) -> None:
    reader = ClientSettings.from_librdkafka(group.lab.client_settings("east", "audit"))
    group.wrong, group.mistake = "kafka_east_probe", {"username": reader.username, "password": reader.password}
    with group.clients() as clients:
        found = GroupContext(group.name, clients).writes_allowed("east")
    assert found.outcome == "failed"
    assert found.detail.startswith("connection kafka_east_probe logs in as audit, and the topology declares User:probe")


def _named(probes: list[Probe], name: str) -> Probe:
    return next(probe for probe in probes if probe.name == name)


class _Unwatched:
    def begins(self, step: StepName) -> None: ...

    def ended(self, record: StepRecord) -> None: ...

    def says(self, sentence: str) -> None: ...

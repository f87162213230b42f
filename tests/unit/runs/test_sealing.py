"""A seal has its number and its predecessor from what the registers know; a key that cannot be used is named before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.errors import Refused
from kafka_dr.evidence.seal import PreviousSeal
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.sealing import evidence_can_be_signed, newest_seal, sequence
from kafka_dr.topology.loading import load
from support.manual_clock import ManualClock
from support.no_connections import NO_CONNECTIONS

TOPOLOGY = Path(__file__).parents[3] / "include" / "topology.yaml"
LAB = {
    "KAFKA_DR_LAB_HOME": "/lab",
    "KAFKA_DR_LAB_EAST": "127.0.0.1:1",
    "KAFKA_DR_LAB_WEST": "127.0.0.1:2",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}


def sealed(number: int) -> dict[str, Any]:
    return {"sealed": {"manifest": "manifest.json", "digest": f"digest-{number}", "sequence": number}}


def clients(tmp_path: Path, key: SigningKey | Refused | None) -> Clients:
    """Clients that reach nothing but a signing key."""

    def signing_key(connection: str) -> SigningKey:
        assert connection == "kafka_dr_signing"
        if isinstance(key, Refused):
            raise key
        assert key is not None
        return key

    topology = load(TOPOLOGY, LAB)
    if key is None:
        evidence = topology.evidence.model_copy(update={"signing_connection": None})
        topology = topology.model_copy(update={"evidence": evidence})
    return Clients(
        topology,
        connections=replace(NO_CONNECTIONS, signing_key=signing_key),
        evidence_root=tmp_path,
        clock=ManualClock(),
    )


def test_the_first_seal_of_a_group_has_no_predecessor() -> None:
    assert (newest_seal([{}, {"run-1": {"claim": {}}}]), sequence([{}], "digest-1")) == (None, 1)


def test_the_newest_seal_is_that_of_any_register_that_answers() -> None:
    histories = [{"run-1": sealed(1)}, {"run-1": sealed(1), "run-2": sealed(2)}]
    assert newest_seal(histories) == PreviousSeal("run-2", "manifest.json", "digest-2")
    assert sequence(histories, "digest-3") == 3


def test_a_seal_that_is_known_keeps_its_number() -> None:
    assert sequence([{"run-1": sealed(1), "run-2": sealed(2)}], "digest-1") == 1


@pytest.mark.parametrize(
    ("key", "outcome", "said"),
    [
        (SigningKey.generate(), "ok", "the key of kafka_dr_signing signs the run"),
        (None, "ok", "the run is sealed unsigned"),
        (Refused("connection kafka_dr_signing has no private_key"), "failed", "has no private_key"),
    ],
)
def test_whether_a_run_can_be_signed_is_known_before_it_begins(
    tmp_path: Path, key: SigningKey | Refused | None, outcome: str, said: str
) -> None:
    found = evidence_can_be_signed(clients(tmp_path, key))
    assert (found.outcome, found.name) == (outcome, "evidence_can_be_signed")
    assert said in found.detail

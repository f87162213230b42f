"""What the parent reads for its children: every connection by which anything reaches a group's clusters."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_dr.connections.connection import Connection
from kafka_dr.errors import Refused
from kafka_dr.rounds.access_data import AccessData
from kafka_dr.topology.access_rules import AccessRulesSpec
from kafka_dr.topology.loading import load

LAB = {
    "KAFKA_DR_LAB_HOME": "/lab",
    "KAFKA_DR_LAB_EAST": "127.0.0.1:1",
    "KAFKA_DR_LAB_WEST": "127.0.0.1:2",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}


def test_principals_and_the_api_of_kubernetes_are_read_as_well() -> None:
    topology = load(Path(__file__).parents[3] / "include" / "topology.yaml", LAB)
    rules = {
        "east": {"kept_by": "command", "program": ["/bin/x"], "principal_connections": {"User:orders-app": "e_app"}},
        "west": {"kept_by": "kafka_user", "connection": "k8s", "namespace": "kafka", "reconciles_every_seconds": 9},
    }
    clusters = {
        name: spec.model_copy(update={"access_rules": AccessRulesSpec.model_validate(rules[name])})
        for name, spec in topology.clusters.items()
    }

    data = AccessData.read(
        topology.model_copy(update={"clusters": clusters}),
        ["orders"],
        Connection,
    )
    roles = ("operator", "probe", "audit", "replicator")
    kafka = {f"kafka_{name}_{role}" for name in ("east", "west") for role in roles} | {"e_app"}
    keys = {"kafka_dr_signing", "kafka_dr_encryption"}
    assert set(data.stored) == kafka | {"connect_east", "connect_west", "k8s"} | keys
    with pytest.raises(Refused, match="the connection e_other was not read before this look began"):
        data.get("e_other")

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_dr.topology.loading import load
from kafka_dr.topology.mistakes import TopologyError
from kafka_dr.topology.model import Topology

SOUND = """\
evidence:
  root: /srv/evidence
clusters:
  east: &east
    cluster_id: c4bSLbgDQUupnRKGhGWJpg
    connections: {operator: e_op, probe: e_probe, audit: e_audit, replicator: e_repl}
    connect: connect_east
    connect_group_id: connect-east
    replicator: {bootstrap_servers: "${EAST}", security_protocol: SASL_PLAINTEXT, sasl_mechanism: PLAIN}
    replicator_secrets: /etc/connect/secrets.properties
  west:
    cluster_id: r0hWq2sFTK6KX5nYzOYxUw
    connections: {operator: w_op, probe: w_probe, audit: w_audit, replicator: w_repl}
    connect: connect_west
    connect_group_id: connect-west
    replicator: {bootstrap_servers: "west:9092", security_protocol: SSL, keystore_file: /etc/connect/me.pem}
    replicator_secrets: /etc/connect/secrets.properties
protection_groups:
  orders:
    clusters: [east, west]
    initial_active: east
    topics: [payments]
    topic_prefixes: [orders.]
    consumer_groups: [ledger]
    consumer_group_prefixes: [orders-]
    transactional_ids: [ledger-1]
    transactional_id_prefixes: [billing-]
    principals: ["User:orders-app"]
    operator_principal: User:op
    probe_principal: User:probe
    replicator_principal: User:replicator
    super_users: ["User:admin"]
    approvers: [alice]
    route: {kind: file, path: /srv/route/orders.json}
    objectives: {rpo_seconds: 60, rto_seconds: 300, write_outage_seconds: 10}
"""

#: A second group that shares nothing with the first.
SECOND = """\
  carts:
    clusters: [east, west]
    initial_active: west
    topic_prefixes: [carts.]
    principals: ["User:carts-app"]
    operator_principal: User:op
    probe_principal: User:probe
    replicator_principal: User:replicator
    approvers: [bob]
    route: {kind: file, path: /srv/route/carts.json}
    objectives: {rpo_seconds: 60, rto_seconds: 300, write_outage_seconds: 10}
"""

Edit = Callable[..., str]
Load = Callable[[str], Topology]
Complain = Callable[[str], tuple[str, ...]]


@pytest.fixture
def edited() -> Edit:
    """Return the sound topology after changes; the old text of each must be there exactly once."""

    def edit(*changes: tuple[str, str], more: str = "") -> str:
        text = SOUND + more
        for old, new in changes:
            assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in the text"
            text = text.replace(old, new)
        return text

    return edit


@pytest.fixture
def second() -> str:
    """Return a group that can be appended to the sound topology."""
    return SECOND


@pytest.fixture
def load_text(tmp_path: Path) -> Load:
    """Load a topology from its text."""

    def load_it(text: str) -> Topology:
        path = tmp_path / "topology.yaml"
        path.write_text(text, encoding="utf-8")
        return load(path, {"EAST": "east:9092"})

    return load_it


@pytest.fixture
def mistakes_in(load_text: Load) -> Complain:
    """Load a broken topology and return what is said about it, a sentence each."""

    def complain(text: str) -> tuple[str, ...]:
        with pytest.raises(TopologyError) as caught:
            load_text(text)
        return tuple(str(mistake) for mistake in caught.value.mistakes)

    return complain

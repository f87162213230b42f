"""The clients of a task: how it reaches the declared clusters, through Airflow's connections."""

from __future__ import annotations

import os
from collections.abc import Mapping

from airflow.sdk import BaseHook
from airflow.sdk.log import mask_secret

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import ClientSettings
from kafka_dr.connections.connection import Connection
from kafka_dr.connections.meaning import signing_key, signing_pem
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.replication import ConnectEndpoint
from kafka_dr.runs.clients import Clients
from kafka_dr_airflow.hooks.connect import ConnectHook
from kafka_dr_airflow.hooks.kafka_cluster import KafkaClusterHook
from kafka_dr_airflow.people.asking import people_of
from kafka_dr_airflow.topology_file import evidence_root, read_topology


def open_clients(environ: Mapping[str, str] = os.environ) -> Clients:
    """Build the clients from the topology and Airflow's connections. Use it in a ``with``, which closes them.

    A cluster is connected to when it is asked for, not before.

    :raises Refused: no topology is named
    :raises TopologyError: with everything that is wrong with the topology
    """
    topology = read_topology(environ)
    return Clients(
        topology,
        settings_of=_settings_of,
        connect_of=_connect_of,
        evidence_root=evidence_root(topology.evidence),
        clock=SystemClock(),
        signing_key_of=signing_key_of,
        people_of=people_of,
    )


def _settings_of(connection_id: str) -> ClientSettings:
    return KafkaClusterHook(connection_id).settings()


def _connect_of(connection_id: str) -> ConnectEndpoint:
    return ConnectHook(connection_id).endpoint()


def signing_key_of(connection_id: str) -> SigningKey:
    """Return the key that signs sealed runs, from the extra of a connection of any type.

    :raises Refused: the connection holds no key, or none that can be used
    """
    stored = Connection(connection_id, extra=BaseHook.get_connection(connection_id).extra_dejson)
    mask_secret(signing_pem(stored))
    return signing_key(stored)

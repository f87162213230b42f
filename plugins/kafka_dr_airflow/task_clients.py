"""The clients of a task: how it reaches the declared clusters, through Airflow's connections."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from airflow.sdk import BaseHook
from airflow.sdk.log import mask_secret

from kafka_dr.audit.content_keys import ContentKeys
from kafka_dr.clock import SystemClock
from kafka_dr.clusters import ClientSettings
from kafka_dr.connections.connection import Connection
from kafka_dr.connections.meaning import content_keys, signing_key, signing_pem
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.rounds import AccessData
from kafka_dr.runs.clients import Clients
from kafka_dr.topology import Topology
from kafka_dr_airflow.airflow_api import ERRORS
from kafka_dr_airflow.hooks.connect import ConnectHook
from kafka_dr_airflow.hooks.kafka_cluster import KafkaClusterHook
from kafka_dr_airflow.people.asking import people_of
from kafka_dr_airflow.running_runs import still_runs
from kafka_dr_airflow.topology_file import evidence_root, read_topology


def open_clients(environ: Mapping[str, str] = os.environ) -> Clients:
    """Build the clients from the topology and Airflow's connections. Use it in a ``with``, which closes them.

    A cluster is connected to when it is asked for, not before.

    :raises Refused: no topology is named
    :raises TopologyError: with everything that is wrong with the topology
    """
    topology = read_topology(environ)
    clients = Clients(
        topology,
        settings_of=_settings_of,
        connect_of=_connect_of,
        evidence_root=evidence_root(topology.evidence),
        clock=SystemClock(),
        signing_key_of=signing_key_of,
        content_keys_of=content_keys_of,
        people_of=people_of,
    )
    clients.executor.still_runs = still_runs
    # Airflow names it in the environment of each task.
    clients.shown.dag_id = environ.get("AIRFLOW_CTX_DAG_ID", "")
    return clients


def read_access(topology: Topology, groups: Iterable[str]) -> AccessData:
    """Read the connections of some groups, for child processes: only this process can ask Airflow for them."""
    return AccessData.read(
        topology,
        groups,
        settings_of=_settings_of,
        connect_of=_connect_of,
        signing_key_of=signing_key_of,
        content_keys_of=content_keys_of,
        unreadable=ERRORS,
    )


def _settings_of(connection_id: str) -> ClientSettings:
    return KafkaClusterHook(connection_id).settings()


def _connect_of(connection_id: str) -> HttpEndpoint:
    return ConnectHook(connection_id).endpoint()


def signing_key_of(connection_id: str) -> SigningKey:
    """Return the key that signs sealed runs, from the extra of a connection of any type.

    :raises Refused: the connection holds no key, or none that can be used
    """
    stored = Connection(connection_id, extra=BaseHook.get_connection(connection_id).extra_dejson)
    mask_secret(signing_pem(stored))
    return signing_key(stored)


def content_keys_of(connection_id: str) -> ContentKeys:
    """Return the keys of the content of stranded records, from a connection of any type.

    :raises Refused: the connection holds no key, or none that can be used
    """
    found = BaseHook.get_connection(connection_id)
    stored = Connection(connection_id, login=found.login or "", password=found.password or "", extra=found.extra_dejson)
    for key in (stored.password, *dict(stored.extra.get("former_keys") or {}).values()):
        mask_secret(key)
    return content_keys(stored)

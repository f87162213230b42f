"""The clients of a task: how it reaches the declared clusters, through Airflow's connections."""

from __future__ import annotations

import os
from collections.abc import Mapping

from kafka_dr.clock import SystemClock
from kafka_dr.runs.clients import Clients
from kafka_dr_airflow.hooks.connections import CONNECTIONS
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
        connections=CONNECTIONS,
        evidence_root=evidence_root(topology.evidence),
        clock=SystemClock(),
        people_of=people_of,
    )
    clients.executor.still_runs = still_runs
    # Airflow names both in the environment of each task.
    clients.shown.dag_id = environ.get("AIRFLOW_CTX_DAG_ID", "")
    clients.shown.airflow_run = environ.get("AIRFLOW_CTX_DAG_RUN_ID", "")
    return clients

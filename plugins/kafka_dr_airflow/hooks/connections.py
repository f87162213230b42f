"""Airflow's connections: how a task reaches clusters and services, and the keys that it signs and encrypts with.

"Test connection" in Airflow's user interface runs the hooks of the providers, which read the same connections: those of
a cluster are of the Kafka provider's type, with librdkafka's keys in the extra and nothing else
(``bootstrap.servers``, ``security.protocol``, ``sasl.mechanism`` …), those of a service of the HTTP provider's type.
"""

from __future__ import annotations

from airflow.sdk import BaseHook
from airflow.sdk.log import mask_secret

from kafka_dr.connections.connection import Connection
from kafka_dr.connections.port import Connections
from kafka_dr.errors import KafkaDrError, Refused


def airflow_connection(conn_id: str) -> Connection:
    """Return a connection of Airflow, whose secrets are masked in logs from then on.

    :raises AirflowNotFoundException: there is no such connection
    :raises Refused: a file that it names cannot be read
    """
    found = BaseHook.get_connection(conn_id)
    stored = Connection(
        conn_id,
        found.conn_type or "",
        found.host or "",
        found.port,
        found.schema or "",
        found.login or "",
        found.password or "",
        found.extra_dejson,
    )
    return _masked(_masked(stored).with_files())


def from_airflow(conn_id: str) -> Connection:
    """Return a connection of Airflow, and raise no error of Airflow's own.

    :raises Refused: Airflow has no such connection, or it cannot be read
    """
    try:
        return airflow_connection(conn_id)
    except KafkaDrError:
        raise
    except Exception:  # noqa: BLE001 - Airflow has errors of its own, whose text may show the connection
        raise Refused(
            f"connection {conn_id} cannot be read: create this connection in Airflow, or correct its id in the topology"
        ) from None


def _masked(connection: Connection) -> Connection:
    # Of an extra, Airflow masks by itself only what has a name that it knows.
    for secret in connection.secrets:
        mask_secret(secret)
    return connection


CONNECTIONS = Connections.stored(from_airflow)

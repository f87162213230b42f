"""Connections that no test may ask for; a test replaces those that it has."""

from __future__ import annotations

from kafka_dr.connections.connection import Connection
from kafka_dr.connections.port import Connections


def _asked(connection: str) -> Connection:
    raise AssertionError(f"a test asks for {connection}")


NO_CONNECTIONS = Connections.stored(_asked)

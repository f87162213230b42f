"""Reads an Airflow connection of type ``http``: where a REST API is, and the login."""

from __future__ import annotations

from airflow.sdk import BaseHook

from kafka_dr.errors import Refused
from kafka_dr.replication import ConnectEndpoint


class ConnectHook(BaseHook):
    """Reads a connection of the HTTP provider's type in the same way as that provider.

    It is not a subclass of the provider's hook. That hook imports two HTTP libraries, which no step uses and which
    would cost each step half a second.

    :param http_conn_id: the connection's id; login and password are used as HTTP basic authentication
    """

    conn_name_attr = "http_conn_id"
    default_conn_name = "http_default"
    conn_type = "http"
    hook_name = "HTTP"

    def __init__(self, http_conn_id: str = default_conn_name) -> None:
        super().__init__()
        self.http_conn_id = http_conn_id

    def endpoint(self) -> ConnectEndpoint:
        """Return where the REST API is, and the login.

        :raises Refused: the connection names no host
        """
        connection = self.get_connection(self.http_conn_id)
        if not connection.host:
            raise Refused(f"connection {self.http_conn_id} has no host: enter the host of Connect's REST API")
        host = connection.host.rstrip("/")
        base_url = host if "://" in host else f"{connection.schema or 'http'}://{host}"
        if connection.port:
            base_url = f"{base_url}:{connection.port}"
        return ConnectEndpoint(base_url, username=connection.login or None, password=connection.password or None)

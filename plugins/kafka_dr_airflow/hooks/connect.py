"""From an Airflow connection of type ``http`` to a Connect cluster's REST API."""

from __future__ import annotations

from airflow.sdk import BaseHook

from kafka_dr.errors import Refused
from kafka_dr.replication import ConnectEndpoint


class ConnectHook(BaseHook):
    """A connection of the HTTP provider's type, read as that provider reads it.

    It is no subclass of the provider's hook, which brings two HTTP libraries with it: importing them would cost every
    step of a failover half a second, and none of them would be used.

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
            raise Refused(f"connection {self.http_conn_id} names no host: write the host of Connect's REST API")
        host = connection.host.rstrip("/")
        base_url = host if "://" in host else f"{connection.schema or 'http'}://{host}"
        if connection.port:
            base_url = f"{base_url}:{connection.port}"
        return ConnectEndpoint(base_url, username=connection.login or None, password=connection.password or None)

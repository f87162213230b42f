"""Reads an Airflow connection of type ``http``: where a REST API is, and the login."""

from __future__ import annotations

from airflow.sdk import BaseHook
from airflow.sdk.log import mask_secret

from kafka_dr.connections.connection import Connection
from kafka_dr.connections.meaning import connect_endpoint
from kafka_dr.http_endpoint import HttpEndpoint


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

    def endpoint(self) -> HttpEndpoint:
        """Return where the REST API is, and the login.

        :raises Refused: the connection names no host
        """
        found = self.get_connection(self.http_conn_id)
        endpoint = connect_endpoint(
            Connection(
                self.http_conn_id,
                host=found.host or "",
                port=found.port,
                schema=found.schema or "",
                login=found.login or "",
                password=found.password or "",
                extra=found.extra_dejson,
            )
        )
        for secret in endpoint.secrets:
            mask_secret(secret)
        return endpoint

"""The port to connections: whatever keeps them, they are asked for by the ids that the topology names."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass

from kafka_dr.audit.content_keys import ContentKeys
from kafka_dr.clusters import ClientSettings
from kafka_dr.connections import meaning
from kafka_dr.connections.connection import Connection
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.routing import TsigKey


@dataclass(frozen=True, slots=True)
class Connections:
    """What each connection id means; each raises :class:`Refused` if the connection cannot be read or used.

    :param kafka: how to reach a cluster, and as which principal
    :param http: where Connect's REST API, a vantage or the API of Kubernetes is, and the login for it
    :param signing_key: what signs sealed runs
    :param content_keys: what encrypts the content of kept stranded records
    :param tsig: what signs updates of name servers
    """

    kafka: Callable[[str], ClientSettings]
    http: Callable[[str], HttpEndpoint]
    signing_key: Callable[[str], SigningKey]
    content_keys: Callable[[str], ContentKeys]
    tsig: Callable[[str], TsigKey]

    @classmethod
    def stored(cls, get: Callable[[str], Connection]) -> Connections:
        """Return what connections mean that are stored in Airflow's format.

        :param get: returns one by its id, or raises :class:`Refused`
        """
        return cls(
            lambda conn_id: meaning.kafka_settings(get(conn_id)),
            lambda conn_id: meaning.connect_endpoint(get(conn_id)),
            lambda conn_id: meaning.signing_key(get(conn_id)),
            lambda conn_id: meaning.content_keys(get(conn_id)),
            lambda conn_id: meaning.tsig_key(get(conn_id)),
        )

    def hidden(self, hide: Callable[..., None]) -> Connections:
        """Return the same connections, of which each secret is hidden before anybody has it.

        :param hide: keeps a secret out of what is written; gets as ``login`` the login that it belongs to
        """

        def kafka(connection: str) -> ClientSettings:
            found = self.kafka(connection)
            hide(found.password, login=found.username)
            hide(found.key_password)
            return found

        def http(connection: str) -> HttpEndpoint:
            found = self.http(connection)
            for secret, login in found.secrets.items():
                hide(secret, login=login)
            return found

        def signing_key(connection: str) -> SigningKey:
            found = self.signing_key(connection)
            hide("".join(found.private_pem.splitlines()[1:-1]))
            return found

        def content_keys(connection: str) -> ContentKeys:
            found = self.content_keys(connection)
            for key in found.keys.values():
                hide(key.hex())
                hide(base64.b64encode(key).decode("ascii"))
            return found

        def tsig(connection: str) -> TsigKey:
            found = self.tsig(connection)
            hide(found.secret)
            return found

        return Connections(kafka, http, signing_key, content_keys, tsig)

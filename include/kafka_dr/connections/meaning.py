"""What a connection means: client settings of Kafka, the REST API of Connect, the key that signs evidence."""

from __future__ import annotations

from dataclasses import replace

from kafka_dr.audit.content_keys import ContentKeys, KeyUnusable
from kafka_dr.clusters import ClientSettings
from kafka_dr.connections.connection import Connection
from kafka_dr.errors import Refused
from kafka_dr.evidence.signing import SigningKey, UnusableKey
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.routing import TsigKey
from kafka_dr.tls_files import TlsFiles

#: What the extra of a connection to Connect may hold, in the order of the fields of :class:`TlsFiles`.
_TLS_KEYS = ("ca_file", "certificate_file", "key_file", "key_password")


def kafka_settings(connection: Connection) -> ClientSettings:
    """Return how to reach a cluster, and as which principal, from a connection of type ``kafka``.

    :raises Refused: a setting is missing or has a value that is not allowed
    """
    try:
        return replace(ClientSettings.from_librdkafka(connection.extra), connection=connection.conn_id)
    except Refused as error:
        raise Refused(f"connection {connection.conn_id}: {error}") from error


def connect_endpoint(connection: Connection) -> HttpEndpoint:
    """Return where a REST API or a vantage is, and the login, from a connection of type ``http``.

    The address is put together as Airflow's HTTP provider does it. The extra may hold ``ca_file``,
    ``certificate_file``, ``key_file``, ``key_password`` (see :class:`TlsFiles`), and ``bearer_token``.

    :raises Refused: the connection names no host, or asks for what is not safe
    """
    if not connection.host:
        raise Refused(f"connection {connection.conn_id} has no host: enter the host of the REST API")
    host = connection.host.rstrip("/")
    base_url = host if "://" in host else f"{connection.schema or 'http'}://{host}"
    if connection.port:
        base_url = f"{base_url}:{connection.port}"
    extra = connection.extra
    try:
        if str(extra.get("verify", "")).lower() in ("false", "0"):
            raise Refused("verify is false, and certificates are always checked: remove it, and name ca_file")
        return HttpEndpoint(
            base_url,
            username=connection.login or None,
            password=connection.password or None,
            token=str(extra.get("bearer_token") or "") or None,
            tls=TlsFiles(*(extra.get(name) or None for name in _TLS_KEYS)),
        )
    except Refused as error:
        raise Refused(f"connection {connection.conn_id}: {error}") from error


def signing_key(connection: Connection) -> SigningKey:
    """Return the key that signs sealed runs, from the extra of a connection of any type.

    :raises Refused: the connection holds no key, or none that can be used
    """
    pem = connection.extra.get("private_key")
    if not pem:
        raise Refused(
            f"connection {connection.conn_id} holds no signing key: write private_key or private_key_file in its extra"
        )
    try:
        return SigningKey.of(str(pem))
    except UnusableKey as error:
        raise Refused(f"connection {connection.conn_id}: {error}") from error


def content_keys(connection: Connection) -> ContentKeys:
    """Return the keys that encrypt the content of kept stranded records, from a connection of any type.

    :raises Refused: the connection holds none that can be used
    """
    former = connection.extra.get("former_keys") or {}
    if not isinstance(former, dict):
        raise Refused(f"connection {connection.conn_id}: former_keys in its extra must be an object of names and keys")
    try:
        return ContentKeys.of(connection.login, connection.password, {k: str(key) for k, key in former.items()})
    except KeyUnusable as error:
        raise Refused(f"connection {connection.conn_id}: {error}: login is its name, password the key") from error


def tsig_key(connection: Connection) -> TsigKey:
    """Return the key that signs updates of name servers, from a connection of any type.

    :raises Refused: the connection holds none that can be used
    """
    algorithm = str(connection.extra.get("algorithm") or "hmac-sha256")
    try:
        return TsigKey(connection.login, connection.password, algorithm)
    except Refused as error:
        raise Refused(f"connection {connection.conn_id}: {error}") from error

"""The settings of one connection, in the formats of librdkafka, Java clients, kafka-python and Spark's Kafka source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from kafka_dr.errors import Refused

SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
SaslMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_LIBRDKAFKA = {
    "bootstrap.servers": "bootstrap_servers",
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.mechanisms": "sasl_mechanism",
    "sasl.username": "username",
    "sasl.password": "password",
    "ssl.ca.location": "ca_file",
    "ssl.certificate.location": "certificate_file",
    "ssl.key.location": "key_file",
    "ssl.key.password": "key_password",
}


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """How a principal reaches a cluster. ``repr`` shows no secrets.

    :param bootstrap_servers: ``host:port`` pairs, separated by commas
    :param ca_file: PEM file with the authorities to trust; empty: those of the system
    :param certificate_file: PEM file with the client's certificate, for mutual TLS
    :param key_file: PEM file with the client's private key (PKCS#8, which Java needs)
    :param connection: the id of the connection that says this, for messages; empty where there is none
    """

    bootstrap_servers: str
    security_protocol: SecurityProtocol = "PLAINTEXT"
    sasl_mechanism: SaslMechanism | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    key_password: str | None = field(default=None, repr=False)
    connection: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.bootstrap_servers:
            raise Refused("the connection names no bootstrap.servers: write host:port, separated by commas")
        if self.security_protocol not in _PROTOCOLS:
            raise Refused(f"security.protocol is {self.security_protocol!r}: write one of {', '.join(_PROTOCOLS)}")
        if self._sasl and not self.sasl_mechanism:
            raise Refused(f"{self.security_protocol} needs sasl.mechanism: write one of {', '.join(_MECHANISMS)}")
        if self._sasl and self.sasl_mechanism not in _MECHANISMS:
            raise Refused(
                f"sasl.mechanism is {self.sasl_mechanism!r}, a login that is not supported: let the brokers take one "
                f"of {', '.join(_MECHANISMS)} for this principal, or a TLS certificate (security.protocol SSL), and "
                "write that here"
            )
        if self._sasl and not (self.username and self.password):
            raise Refused(f"{self.security_protocol} needs sasl.username and sasl.password: set what is missing")
        if bool(self.certificate_file) is not bool(self.key_file):
            raise Refused("only one of ssl.certificate.location and ssl.key.location is set: set both or none")

    @property
    def _sasl(self) -> bool:
        return self.security_protocol.startswith("SASL_")

    @property
    def _tls(self) -> bool:
        return self.security_protocol.endswith("SSL")

    @classmethod
    def from_librdkafka(cls, config: Mapping[str, object]) -> ClientSettings:
        """Read librdkafka's keys, as an Airflow ``kafka`` connection keeps them in its extra.

        :param config: any librdkafka configuration; keys that do not matter for reaching the cluster are ignored
        :raises Refused: a setting is missing or is none of the choices, or a security setting is not supported
        """
        mechanism = config.get("sasl.mechanism") or config.get("sasl.mechanisms")
        sasl = str(config.get("security.protocol")).upper().startswith("SASL_")
        # What another login needs is not named: the login itself is refused, in one sentence.
        other_login = sasl and mechanism and mechanism not in _MECHANISMS
        unsupported = sorted(key for key in config if key.startswith(("sasl.", "ssl.")) and key not in _LIBRDKAFKA)
        if unsupported and not other_login:
            known = ", ".join(sorted(key for key in _LIBRDKAFKA if key.startswith(("sasl.", "ssl."))))
            raise Refused(f"the connection sets {', '.join(unsupported)}, which is not supported: use only {known}")
        fields = {_LIBRDKAFKA[key]: str(value) for key, value in config.items() if key in _LIBRDKAFKA and value}
        fields["security_protocol"] = fields.get("security_protocol", "PLAINTEXT").upper()
        fields.setdefault("bootstrap_servers", "")
        return cls(**cast("dict[str, SecurityProtocol]", fields))  # type: ignore[arg-type]  # checked at birth

    def librdkafka(self) -> dict[str, str]:
        """Return the settings for confluent-kafka."""
        values = {
            "bootstrap.servers": self.bootstrap_servers,
            "security.protocol": self.security_protocol,
            "sasl.mechanism": self.sasl_mechanism if self._sasl else None,
            "sasl.username": self.username if self._sasl else None,
            "sasl.password": self.password if self._sasl else None,
            "ssl.ca.location": self.ca_file if self._tls else None,
            "ssl.certificate.location": self.certificate_file if self._tls else None,
            "ssl.key.location": self.key_file if self._tls else None,
            "ssl.key.password": self.key_password if self._tls else None,
        }
        return {key: value for key, value in values.items() if value}

    def java(self, *, prefix: str = "") -> dict[str, str]:
        """Return the settings for a Java client: Connect, MirrorMaker 2, the tools (PEM stores: KIP-651).

        :param prefix: put before every key, for example ``source.cluster.``
        """
        keystore: dict[str, str | None] = {}
        if self._tls and self.certificate_file and self.key_file:
            keystore = {
                "ssl.keystore.certificate.chain": Path(self.certificate_file).read_text("ascii"),
                "ssl.keystore.key": Path(self.key_file).read_text("ascii"),
                "ssl.key.password": self.key_password,
            }
        values = java_access(
            self.bootstrap_servers,
            self.security_protocol,
            sasl=(self.sasl_mechanism, self.jaas()) if self._sasl else None,
            ca_file=self.ca_file,
            keystore=keystore,
        )
        return {prefix + key: value for key, value in values.items()}

    def spark(self) -> dict[str, str]:
        """Return the options for Spark's Kafka source: those of a Java client under ``kafka.``."""
        return self.java(prefix="kafka.")

    def kafka_python(self) -> dict[str, object]:
        """Return the settings for kafka-python, which sends what librdkafka's admin client cannot send."""
        values: dict[str, object | None] = {
            "bootstrap_servers": [server.strip() for server in self.bootstrap_servers.split(",")],
            "security_protocol": self.security_protocol,
            "sasl_mechanism": self.sasl_mechanism if self._sasl else None,
            "sasl_plain_username": self.username if self._sasl else None,
            "sasl_plain_password": self.password if self._sasl else None,
            "ssl_cafile": self.ca_file if self._tls else None,
            "ssl_certfile": self.certificate_file if self._tls else None,
            "ssl_keyfile": self.key_file if self._tls else None,
            "ssl_password": self.key_password if self._tls else None,
        }
        return {key: value for key, value in values.items() if value is not None}

    def jaas(self) -> str:
        """Return the ``sasl.jaas.config`` of a Java client; quotes and backslashes in secrets are escaped."""
        module = "plain.PlainLoginModule" if self.sasl_mechanism == "PLAIN" else "scram.ScramLoginModule"
        user, password = (_quoted(text or "") for text in (self.username, self.password))
        return f"org.apache.kafka.common.security.{module} required username={user} password={password};"


def java_access(
    bootstrap_servers: str,
    security_protocol: str,
    *,
    sasl: tuple[str | None, str] | None = None,
    ca_file: str | None = None,
    keystore: Mapping[str, str | None] | None = None,
) -> dict[str, str]:
    """Return the settings with which any Java client reaches a cluster, including those of Connect.

    :param sasl: the mechanism, and the JAAS configuration or a reference to it
    :param ca_file: PEM file with the authorities to trust, on the client's machine; ``None``: those of Java
    :param keystore: the client's certificate and key as PEM, or references to them
    """
    tls = security_protocol.endswith("SSL")
    values: dict[str, str | None] = {"bootstrap.servers": bootstrap_servers, "security.protocol": security_protocol}
    if sasl is not None:
        values |= {"sasl.mechanism": sasl[0], "sasl.jaas.config": sasl[1]}
    if tls and ca_file:
        values |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": ca_file}
    if tls and keystore:
        values |= {"ssl.keystore.type": "PEM", **keystore}
    return {key: value for key, value in values.items() if value}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

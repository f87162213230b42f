"""Client settings of the lab's principals, as data and as private files for any Kafka client."""

from __future__ import annotations

from lab.clusters import CLUSTERS, Cluster
from lab.credentials import ADMIN, BROKER, Credentials, write_private
from lab.layout import Home, Settings
from lab.rights import PRINCIPALS

SECURITY_PROTOCOL = "SASL_PLAINTEXT"
MECHANISM = "SCRAM-SHA-512"


def librdkafka(cluster: Cluster, principal: str, *, settings: Settings, credentials: Credentials) -> dict[str, str]:
    """Settings of a principal in librdkafka's names."""
    return {
        "bootstrap.servers": cluster.bootstrap(settings),
        "security.protocol": SECURITY_PROTOCOL,
        "sasl.mechanism": MECHANISM,
        "sasl.username": principal,
        "sasl.password": credentials.kafka(cluster.name, principal),
    }


def broker_user(cluster: Cluster, *, settings: Settings, credentials: Credentials) -> dict[str, str]:
    """Settings of the brokers' own user, on their own listener: the only way in before there are users."""
    return {
        "bootstrap.servers": cluster.internal_bootstrap(settings),
        "security.protocol": SECURITY_PROTOCOL,
        "sasl.mechanism": "PLAIN",
        "sasl.username": BROKER,
        "sasl.password": credentials.kafka(cluster.name, BROKER),
    }


def jaas(cluster: Cluster, principal: str, *, credentials: Credentials) -> str:
    """The login line of a Java client."""
    password = credentials.kafka(cluster.name, principal)
    return (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        f'username="{principal}" password="{password}";'
    )


def write_files(home: Home, *, settings: Settings, credentials: Credentials) -> None:
    """Write the settings of every principal on every cluster: for librdkafka, and for Java clients beside it."""
    for cluster in CLUSTERS:
        for principal in (ADMIN, *PRINCIPALS):
            values = librdkafka(cluster, principal, settings=settings, credentials=credentials)
            path = home.client(cluster.name, principal)
            write_private(path, _properties(values))
            java = {name: value for name, value in values.items() if not name.startswith("sasl.")}
            java |= {
                "sasl.mechanism": MECHANISM,
                "sasl.jaas.config": jaas(cluster, principal, credentials=credentials),
            }
            write_private(path.with_suffix(".java.properties"), _properties(java))


def _properties(values: dict[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in values.items())

"""Client settings of the lab's principals, as data and as private files for any Kafka client."""

from __future__ import annotations

from lab.clusters import Cluster
from lab.context import LabContext
from lab.credentials import ADMIN, BROKER, write_private
from lab.layout import Mechanism
from lab.rights import PRINCIPALS

SECURITY_PROTOCOL = "SASL_PLAINTEXT"
#: The class that logs a Java process in, by mechanism.
LOGIN_MODULES: dict[Mechanism, str] = {
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
}


def librdkafka(context: LabContext, cluster: Cluster, principal: str, *, outside: bool = False) -> dict[str, str]:
    """Settings of a principal in librdkafka's names.

    :param outside: whether it is outside of the cluster's datacenter
    """
    return {
        "bootstrap.servers": (cluster.outside_bootstrap if outside else cluster.bootstrap)(context.settings),
        "security.protocol": SECURITY_PROTOCOL,
        "sasl.mechanism": context.settings.mechanism,
        "sasl.username": principal,
        "sasl.password": context.credentials.kafka(cluster.name, principal),
    }


def java(context: LabContext, cluster: Cluster, principal: str) -> dict[str, str]:
    """Settings of a principal in the names of Java clients."""
    return {
        "bootstrap.servers": cluster.bootstrap(context.settings),
        "security.protocol": SECURITY_PROTOCOL,
        "sasl.mechanism": context.settings.mechanism,
        "sasl.jaas.config": jaas(context, cluster, principal),
    }


def broker_user(context: LabContext, cluster: Cluster) -> dict[str, str]:
    """Settings of the brokers' own user, on their own listener: the only way in before there are users."""
    return {
        "bootstrap.servers": cluster.internal_bootstrap(context.settings),
        "security.protocol": SECURITY_PROTOCOL,
        "sasl.mechanism": "PLAIN",
        "sasl.username": BROKER,
        "sasl.password": context.credentials.kafka(cluster.name, BROKER),
    }


def jaas(context: LabContext, cluster: Cluster, principal: str) -> str:
    """The login line of a Java client."""
    password = context.credentials.kafka(cluster.name, principal)
    module = LOGIN_MODULES[context.settings.mechanism]
    return f'{module} required username="{principal}" password="{password}";'


def write_files(context: LabContext) -> None:
    """Write the settings of every principal on every cluster: for librdkafka, and for Java clients."""
    for cluster in context.clusters:
        for principal in (ADMIN, *PRINCIPALS):
            values = librdkafka(context, cluster, principal)
            write_private(context.home.client(cluster.name, principal), _properties(values))
            write_private(
                context.home.java_client(cluster.name, principal), _properties(java(context, cluster, principal))
            )


def _properties(values: dict[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in values.items())

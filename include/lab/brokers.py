"""The brokers: KRaft nodes with SASL on every listener and the standard authorizer."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from lab.clients import LOGIN_MODULES
from lab.clusters import Cluster, Node
from lab.context import LabContext
from lab.credentials import ADMIN, BROKER, write_private
from lab.errors import LabError
from lab.jvm import Jvm
from lab.processes import Command
from lab.rights import PRINCIPALS

HEAP_MEGABYTES = 512
FORMAT_SECONDS = 120


def server_properties(context: LabContext, cluster: Cluster, node: Node, *, data: Path) -> str:
    """The broker's settings. Passwords are in this file and nowhere else; it is private."""
    settings = context.settings
    votes = node in cluster.voters(settings)
    password = context.credentials.kafka(cluster.name, BROKER)
    users = f'username="{BROKER}" password="{password}" user_{BROKER}="{password}"'
    plain = f"{LOGIN_MODULES['PLAIN']} required {users};"
    copies = min(settings.brokers, 3)
    in_sync = 2 if settings.sites > 1 else 1
    listeners = {"CLIENT": node.client_port, "INTERNAL": node.internal_port}
    listeners |= {"OUTSIDE": node.outside_port} if settings.proxied else {}
    advertised = listeners | ({"OUTSIDE": node.proxy_port} if settings.proxied else {})
    advertised |= {"INTERNAL": node.proxy_port} if settings.slow_links else {}
    listened = listeners | ({"CONTROLLER": node.controller_port} if votes else {})
    voters = (f"{each.number}@{settings.host(each.name)}:{each.controller_port}" for each in cluster.voters(settings))
    apart = votes and settings.controllers_apart
    if apart:
        listened = {"CONTROLLER": node.controller_port}
    values = {
        "process.roles": "controller"
        if apart
        else "broker,controller"
        if votes and not settings.controllers_apart
        else "broker",
        "node.id": node.number,
        "controller.quorum.voters": ",".join(voters),
        "listeners": ",".join(f"{name}://{settings.listen}:{port}" for name, port in listened.items()),
        "advertised.listeners": ",".join(
            f"{name}://{settings.host(node.name)}:{port}" for name, port in advertised.items()
        ),
        "listener.security.protocol.map": ",".join(f"{name}:SASL_PLAINTEXT" for name in (*listeners, "CONTROLLER")),
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "INTERNAL",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        **_client_login(context, cluster, *listeners.keys() - {"INTERNAL"}),
        "listener.name.internal.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.internal.plain.sasl.jaas.config": plain,
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": plain,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{BROKER};User:{ADMIN}",
        "allow.everyone.if.no.acl.found": "false",
        "auto.create.topics.enable": "false",
        "default.replication.factor": copies,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": copies,
        "offsets.topic.num.partitions": 8,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": in_sync,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": in_sync,
        "group.initial.rebalance.delay.ms": 0,
        # The controller writes a record that says nothing twice a second otherwise, which an idle lab pays for.
        "metadata.max.idle.interval.ms": 10000,
        "num.network.threads": 2,
        "num.io.threads": 4,
        "log.cleaner.dedupe.buffer.size": 16 * 1024**2,
        "log.dirs": data,
        **({"broker.rack": node.site(settings.sites)} if settings.sites > 1 else {}),
    }
    left_out = ("advertised.listeners", "inter.broker.listener.name", "broker.rack") if apart else ()
    return "".join(f"{name}={value}\n" for name, value in values.items() if name not in left_out)


def _client_login(context: LabContext, cluster: Cluster, *listeners: str) -> dict[str, str]:
    """How principals log in: SCRAM knows users that are made later, PLAIN only those that a broker starts with."""
    mechanism, users = context.settings.mechanism, ""
    if mechanism == "PLAIN":
        passwords = {name: context.credentials.kafka(cluster.name, name) for name in (ADMIN, *PRINCIPALS)}
        users = "".join(f' user_{name}="{password}"' for name, password in passwords.items())
    values = {
        "sasl.enabled.mechanisms": mechanism,
        f"{mechanism.lower()}.sasl.jaas.config": f"{LOGIN_MODULES[mechanism]} required{users};",
    }
    return {
        f"listener.name.{listener.lower()}.{name}": value for listener in listeners for name, value in values.items()
    }


def prepare(context: LabContext, cluster: Cluster, node: Node, *, jvm: Jvm) -> Command:
    """Write a broker's settings, format its log directory if it is new, and say how to start it.

    :raises LabError: the log directory cannot be formatted.
    """
    folder = context.home.broker(node.name)
    data, properties, formatted = folder / "data", folder / "server.properties", folder / "formatted"
    write_private(properties, server_properties(context, cluster, node, data=data))
    if not formatted.exists():
        shutil.rmtree(data, ignore_errors=True)  # of a format that was interrupted
        _format(cluster, node, properties=properties, jvm=jvm)
        formatted.touch()
    return Command(
        name=node.name,
        argv=jvm.argv("kafka.Kafka", str(properties), heap_megabytes=HEAP_MEGABYTES, folder=folder),
        folder=folder,
        grace_seconds=10.0,
    )


def _format(cluster: Cluster, node: Node, *, properties: Path, jvm: Jvm) -> None:
    argv = jvm.argv(
        "kafka.tools.StorageTool",
        "format",
        "--cluster-id",
        cluster.cluster_id,
        "--config",
        str(properties),
        heap_megabytes=128,
        folder=properties.parent,
    )
    try:
        subprocess.run(argv, capture_output=True, text=True, timeout=FORMAT_SECONDS, check=True)
    except subprocess.SubprocessError as error:
        said = str(getattr(error, "stderr", None) or getattr(error, "stdout", None) or error).strip()[-400:]
        raise LabError(
            f"the log directory of {node.name} could not be formatted: {said}; remove {properties.parent} and try again"
        ) from error

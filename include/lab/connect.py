"""The Connect workers: one for each cluster and backed by it, exactly once, secrets by reference."""

from __future__ import annotations

import urllib.error
import urllib.request

from lab.clients import SECURITY_PROTOCOL, jaas
from lab.clusters import Cluster
from lab.context import LabContext
from lab.credentials import write_private
from lab.jvm import Jvm
from lab.layout import Settings
from lab.processes import Command
from lab.rights import REPLICATOR

HEAP_MEGABYTES = 384
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


def worker_properties(context: LabContext, cluster: Cluster) -> str:
    """The worker's settings. Its own login, too, is a reference into the secrets file."""
    home, settings = context.home, context.settings
    secrets = home.connect(cluster.name) / "secrets.properties"
    copies = min(settings.brokers, 3)
    access = {
        "security.protocol": SECURITY_PROTOCOL,
        "sasl.mechanism": settings.mechanism,
        "sasl.jaas.config": f"${{file:{secrets}:{cluster.name}.sasl.jaas.config}}",
    }
    values: dict[str, object] = {
        "bootstrap.servers": cluster.bootstrap(settings),
        "group.id": cluster.connect_group_id,
        "listeners": f"http://{settings.listen}:{cluster.connect_port(settings.ports)}",
        "rest.advertised.host.name": settings.host(cluster.connect_name),
        "key.converter": BYTES,
        "value.converter": BYTES,
        "header.converter": BYTES,
        "exactly.once.source.support": "enabled",
        "connector.client.config.override.policy": "All",
        "offset.flush.interval.ms": 1000,
        # Of the worker's own topics: a new record is answered at once, and no record twice a second otherwise. It is
        # less than worker.sync.timeout.ms (3 s), in which a worker has to read such a topic to its end.
        "fetch.max.wait.ms": 2000,
        "task.shutdown.graceful.timeout.ms": 5000,
        "scheduled.rebalance.max.delay.ms": 0,
        "topic.creation.enable": "false",
        "plugin.discovery": "service_load",
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "config.providers.file.param.allowed.paths": home.connect(cluster.name),
        "offset.storage.partitions": 1,
        "status.storage.partitions": 1,
        # Exactly once writes positions with every transaction, and every question about them reads the whole topic:
        # without these it is never compacted before its first gigabyte, and an hour of traffic makes answers slow.
        "offset.storage.segment.bytes": 1048576,
        "offset.storage.segment.ms": 60000,
        "offset.storage.min.cleanable.dirty.ratio": 0.01,
    }
    for storage, name in (("offset", "offsets"), ("config", "configs"), ("status", "status")):
        values[f"{storage}.storage.topic"] = f"{cluster.connect_group_id}-{name}"
        values[f"{storage}.storage.replication.factor"] = copies
    for prefix in ("", "admin.", "producer.", "consumer."):
        values |= {prefix + name: value for name, value in access.items()}
    return "".join(f"{name}={value}\n" for name, value in values.items())


def secret_properties(context: LabContext) -> str:
    """What connectors refer to: ``<cluster>.sasl.jaas.config`` for the replicator on each cluster."""
    lines = []
    for cluster in context.clusters:
        login = jaas(context, cluster, REPLICATOR)
        lines.append(f"{cluster.name}.sasl.jaas.config={login}\n")
    return "".join(lines)


def prepare(context: LabContext, cluster: Cluster, *, jvm: Jvm) -> Command:
    """Write a worker's settings and secrets, and say how to start it."""
    folder = context.home.connect(cluster.name)
    properties = folder / "worker.properties"
    write_private(folder / "secrets.properties", secret_properties(context))
    write_private(properties, worker_properties(context, cluster))
    return Command(
        name=cluster.connect_name,
        argv=jvm.argv(
            "org.apache.kafka.connect.cli.ConnectDistributed",
            str(properties),
            heap_megabytes=HEAP_MEGABYTES,
            folder=folder,
        ),
        folder=folder,
        grace_seconds=10.0,
    )


def answers(cluster: Cluster, settings: Settings) -> bool:
    """Whether the worker has joined its group and serves: a port that listens says neither."""
    try:
        with urllib.request.urlopen(f"{cluster.connect_url(settings)}/connectors", timeout=2) as reply:  # noqa: S310
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False

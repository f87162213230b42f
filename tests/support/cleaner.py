"""The broker's cleaner of compacted topics, made quick for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from support.protection import Protection

_SECONDS = 60.0


@contextmanager
def a_quick_cleaner(protection: Protection, cluster: str) -> Iterator[None]:
    """Let the cleaner look for work all the time instead of every fifteen seconds."""
    with AdminClient(protection.lab.client_settings(cluster, "admin")) as client:

        def change(operation: AlterConfigOpType) -> None:
            entry = ConfigEntry("log.cleaner.backoff.ms", "100", incremental_operation=operation)
            broker = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
            for future in client.incremental_alter_configs([broker]).values():
                future.result(_SECONDS)

        change(AlterConfigOpType.SET)
        try:
            yield
        finally:
            change(AlterConfigOpType.DELETE)

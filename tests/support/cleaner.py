"""The broker's cleaner of compacted topics: quick, or as good as off, for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from support.protection import Protection

_SECONDS = 60.0


def a_quick_cleaner(protection: Protection, cluster: str) -> AbstractContextManager[None]:
    """Let the cleaner look for work all the time instead of every fifteen seconds."""
    return _looking_every(protection, cluster, "100")


def an_idle_cleaner(protection: Protection, cluster: str) -> AbstractContextManager[None]:
    """Let the cleaner look for work every ten minutes only."""
    return _looking_every(protection, cluster, "600000")


@contextmanager
def _looking_every(protection: Protection, cluster: str, milliseconds: str) -> Iterator[None]:
    with AdminClient(protection.lab.client_settings(cluster, "admin")) as client:

        def change(operation: AlterConfigOpType) -> None:
            entry = ConfigEntry("log.cleaner.backoff.ms", milliseconds, incremental_operation=operation)
            broker = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
            for future in client.incremental_alter_configs([broker]).values():
                future.result(_SECONDS)

        change(AlterConfigOpType.SET)
        try:
            yield
        finally:
            change(AlterConfigOpType.DELETE)

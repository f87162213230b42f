"""librdkafka's admin clients, each kept until a thread of the program's own lets go of it.

Every client has a thread that tells what was answered. The garbage collector works in whatever thread it likes, that
one included, and librdkafka ends the whole process when a client is destroyed in its own thread (seen in 2.16.1). So no
client is left to the collector: not even one whose session was forgotten unclosed, by a question that nobody waits for.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import RLock
from weakref import ref

from confluent_kafka.admin import AdminClient


class AdminClients:
    """Holds every admin client for as long as the session that it was made for lives, and is not closed."""

    def __init__(self) -> None:
        self._held: list[tuple[ref[object], AdminClient]] = []
        # What the collector finds while it is held may be a session that is closed by that.
        self._lock = RLock()

    def make(self, owner: object, config: Mapping[str, object]) -> AdminClient:
        """Make a client, and destroy here those whose owners are gone."""
        client = AdminClient(dict(config))
        with self._lock:
            before = self._held
            self._held = [(whose, held) for whose, held in before if whose() is not None]
            self._held.append((ref(owner), client))
        return client

    def let_go(self, owner: object) -> None:
        """Destroy an owner's clients, unless somebody uses one at this moment: then that one will."""
        with self._lock:
            before = self._held
            self._held = [(whose, held) for whose, held in before if whose() is not owner]


#: Of this process.
ADMIN_CLIENTS = AdminClients()

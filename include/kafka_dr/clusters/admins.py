"""librdkafka's admin clients, each destroyed by a thread of the program's own and by none else.

Every client has a thread that tells what was answered. The garbage collector works in whatever thread it likes, that
one included, and librdkafka ends the whole process when a client is destroyed in its own thread (seen in 2.16.1). So no
client is left to the collector: not one whose session was forgotten unclosed, and not one whose session was closed
while something that waits for the collector, as the traceback of an error, still refers to it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from threading import RLock
from weakref import ref

from confluent_kafka.admin import AdminClient

#: What refers to a client that nobody uses any more: the list that holds it, and `sys.getrefcount` while it counts.
_HELD_HERE_ALONE = 2


class AdminClients:
    """Holds every admin client until nobody else refers to it, and whom it was made for closed it or is gone."""

    def __init__(self) -> None:
        self._owned: list[tuple[ref[object], AdminClient]] = []
        self._let_go: list[AdminClient] = []
        # What the collector finds while it is held may be a session that is closed by that.
        self._lock = RLock()

    def make(self, owner: object, config: Mapping[str, object]) -> AdminClient:
        """Make a client, and destroy here those that nobody uses any more."""
        client = AdminClient(dict(config))
        with self._lock:
            unused = self._unused(None)
            self._owned.append((ref(owner), client))
        _destroy(unused)
        return client

    def let_go(self, owner: object) -> None:
        """Destroy an owner's clients; those that somebody refers to at this moment as soon as nobody does."""
        with self._lock:
            unused = self._unused(owner)
        _destroy(unused)

    def held(self) -> list[AdminClient]:
        """Return every client that is not destroyed yet."""
        with self._lock:
            return [*(client for _, client in self._owned), *self._let_go]

    def _unused(self, closed: object | None) -> list[AdminClient]:
        """Take out what nobody else refers to."""
        owned, self._owned = self._owned, []
        while owned:
            whose, client = owned.pop()
            if (owner := whose()) is None or owner is closed:
                self._let_go.append(client)
            else:
                self._owned.append((whose, client))
            del client
        places = range(len(self._let_go) - 1, -1, -1)
        return [self._let_go.pop(at) for at in places if sys.getrefcount(self._let_go[at]) <= _HELD_HERE_ALONE]


def _destroy(unused: list[AdminClient]) -> None:
    """Destroy clients in this thread. That waits for their own, which may wait for a lock: so none is held here."""
    unused.clear()


#: Of this process.
ADMIN_CLIENTS = AdminClients()

"""librdkafka's admin clients, which only a thread of this program may destroy.

Every client has a thread of its own that delivers answers. Python's garbage collector may run in that thread, and
librdkafka ends the whole process when a client is destroyed in its own thread (2.16.1). So the garbage collector never
destroys a client: neither one whose session was not closed, nor one whose session was closed while something that the
collector will free, such as the traceback of an error, still refers to the client.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from threading import RLock
from weakref import ref

from confluent_kafka.admin import AdminClient

#: References to a client that nothing else uses: the list that holds it, and the argument of `sys.getrefcount`.
_REFERENCES_WHEN_UNUSED = 2


class AdminClients:
    """Holds every admin client until its owner closed it or is gone, and nothing else refers to it."""

    def __init__(self) -> None:
        self._owned: list[tuple[ref[object], AdminClient]] = []
        self._let_go: list[AdminClient] = []
        # Reentrant: the garbage collector may close a session, in this thread, while the lock is held.
        self._lock = RLock()

    def make(self, owner: object, config: Mapping[str, object]) -> AdminClient:
        """Make a client, and destroy the clients that are no longer used."""
        client = AdminClient(dict(config))
        with self._lock:
            unused = self._unused(None)
            self._owned.append((ref(owner), client))
        _destroy(unused)
        return client

    def let_go(self, owner: object) -> None:
        """Destroy an owner's clients. A client that is still referred to is destroyed later, when it is not."""
        with self._lock:
            unused = self._unused(owner)
        _destroy(unused)

    def held(self) -> list[AdminClient]:
        """Return every client that was not destroyed yet."""
        with self._lock:
            return [*(client for _, client in self._owned), *self._let_go]

    def _unused(self, closed: object | None) -> list[AdminClient]:
        """Remove the clients that nothing else refers to from the lists, and return them."""
        owned, self._owned = self._owned, []
        while owned:
            whose, client = owned.pop()
            if (owner := whose()) is None or owner is closed:
                self._let_go.append(client)
            else:
                self._owned.append((whose, client))
            del client
        indexes = range(len(self._let_go) - 1, -1, -1)
        return [self._let_go.pop(at) for at in indexes if sys.getrefcount(self._let_go[at]) <= _REFERENCES_WHEN_UNUSED]


def _destroy(unused: list[AdminClient]) -> None:
    """Destroy clients in this thread. No lock is held: the client's own thread, which is waited for, may need one."""
    unused.clear()


#: All admin clients of this process.
ADMIN_CLIENTS = AdminClients()

"""The storage below ``evidence.root``, which may hang: every access has a deadline and can be left alone.

A file system is reached by a child process, because a thread that waits for a network file system cannot be ended, and
would keep its process from ending. An object store is reached by a thread, which waits for a socket.
"""

from __future__ import annotations

from kafka_dr.storage.access import ACCESS_SECONDS, StorageAccess, StorageSilent
from kafka_dr.storage.child_access import ChildAccess
from kafka_dr.storage.deadline_path import DeadlinePath, with_deadline
from kafka_dr.storage.thread_access import ThreadAccess

__all__ = [
    "ACCESS_SECONDS",
    "StorageAccess",
    "ChildAccess",
    "DeadlinePath",
    "StorageSilent",
    "ThreadAccess",
    "with_deadline",
]

"""What several checks of one step need of a cluster, read once, by whichever of them asks first.

Only for checks: a step that changes something, or proves a change, reads again.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import Any

from kafka_dr.clusters import Acl, Topic


class ReadCache:
    """Topics and ACLs as this step found them.

    :param topics: reads the protection group's topics on a cluster
    :param acls: reads every ACL of a cluster
    """

    def __init__(self, *, topics: Callable[[str], dict[str, Topic]], acls: Callable[[str], frozenset[Acl]]) -> None:
        self._topics = topics
        self._acls = acls
        self._read: dict[tuple[str, str], Future[Any]] = {}
        self._lock = Lock()

    def topics(self, cluster: str) -> dict[str, Topic]:
        """Return the group's topics on a cluster."""
        found: dict[str, Topic] = self._once("topics", cluster, lambda: self._topics(cluster))
        return found

    def acls(self, cluster: str) -> frozenset[Acl]:
        """Return every ACL of a cluster."""
        found: frozenset[Acl] = self._once("ACLs", cluster, lambda: self._acls(cluster))
        return found

    def _once(self, what: str, cluster: str, read: Callable[[], Any]) -> Any:
        with self._lock:
            mine = (what, cluster) not in self._read
            answer = self._read.setdefault((what, cluster), Future())
        if mine:
            try:
                answer.set_result(read())
            except BaseException as error:
                answer.set_exception(error)
                raise
        return answer.result()

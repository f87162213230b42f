"""What several checks of one step need of a cluster, read once, by whichever of them asks first.

Only for checks: whoever changes something, or proves a change, reads for itself.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import Any

from kafka_dr.clusters import Acl, KafkaCluster, Topic


class Sight:
    """Topics and ACLs as this step found them.

    :param reached: returns a cluster as the operator sees it
    :param owns: whether a topic is the protection group's
    """

    def __init__(self, reached: Callable[[str], KafkaCluster], owns: Callable[[str], bool]) -> None:
        self._reached = reached
        self._owns = owns
        self._read: dict[tuple[str, str], Future[Any]] = {}
        self._lock = Lock()

    def topics(self, cluster: str) -> dict[str, Topic]:
        """Return the group's topics on a cluster."""

        def read() -> dict[str, Topic]:
            topics = self._reached(cluster).topics
            return topics.describe(filter(self._owns, topics.names()))

        found: dict[str, Topic] = self._once("topics", cluster, read)
        return found

    def acls(self, cluster: str) -> frozenset[Acl]:
        """Return every ACL of a cluster."""
        found: frozenset[Acl] = self._once("ACLs", cluster, lambda: self._reached(cluster).acls.list())
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

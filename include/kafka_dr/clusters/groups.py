"""Consumer groups and their committed offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from kafka_dr.clusters.errors import NotFound, raise_translated
from kafka_dr.clusters.group_coordinators import GroupCoordinators
from kafka_dr.clusters.group_states import GroupStates
from kafka_dr.clusters.model import GroupState
from kafka_dr.clusters.session import ClusterSession
from kafka_dr.errors import KafkaDrError
from kafka_dr.positions import TopicPartition


class Groups:
    """Lists and describes groups; reads and writes their committed offsets."""

    def __init__(self, session: ClusterSession) -> None:
        self._session = session
        self._coordinators = GroupCoordinators(session)
        self._states = GroupStates(session)

    def names(self) -> frozenset[str]:
        """Return the names of all consumer groups that the principal may see."""
        future = self._session.admin.list_consumer_groups(request_timeout=self._session.request_seconds)
        listed = self._session.wait([future], "list the consumer groups")[0]
        if listed.errors:
            raise_translated(listed.errors[0], cluster=self._session.label, doing="list the consumer groups")
        return frozenset(found.group_id for found in listed.valid)

    def states(self, groups: Iterable[str]) -> dict[str, GroupState]:
        """Describe groups, with the operations that the asking principal may use on each.

        :returns: by group; state ``DEAD`` for a group that does not exist
        :raises KafkaDrError: the first error in the order of the names
        """
        states: dict[str, GroupState] = {}
        for group, found in self._states.each(groups).items():
            if isinstance(found, KafkaDrError):
                raise found
            states[group] = found
        return states

    def offsets(self, groups: Iterable[str], *, require_stable: bool = True) -> dict[str, dict[TopicPartition, int]]:
        """Return the committed offsets of groups, those with commit metadata as ``CommittedOffset``.

        :param require_stable: wait for open transactions that carry offsets (KIP-447), until the deadline of a
            request. A partition whose first commit is in an open transaction is not listed until the transaction ends
        :raises TryAgain: such a transaction did not end
        """
        found = self._coordinators.committed(groups, require_stable=require_stable)
        for error in found.values():
            if isinstance(error, KafkaDrError):
                raise error
        return {group: answer for group, answer in found.items() if not isinstance(answer, KafkaDrError)}

    def set_offsets(
        self,
        offsets: Mapping[str, Mapping[TopicPartition, int]],
        *,
        before_each: Callable[[], None] = lambda: None,
    ) -> None:
        """Commit offsets on behalf of groups, with their commit metadata and without a leader epoch.

        The epoch of another cluster means nothing here, and a consumer would look for a truncated log.

        :param offsets: by group and partition
        :param before_each: called right before each request, in several threads; where it raises an error,
            the offsets of that group are not committed
        :raises GroupNotEmpty: a group has live members
        """

        wanted = {group: positions for group, positions in offsets.items() if positions}
        done = self._coordinators.commit(wanted, before_each=before_each)
        for group in sorted(done):
            if isinstance(error := done[group], KafkaDrError):
                raise error

    def delete(self, groups: Iterable[str]) -> None:
        """Delete groups with their committed offsets. A missing group is no error.

        :raises GroupNotEmpty: a group has live members
        """
        wanted = sorted(set(groups))
        if not wanted:
            return
        futures = self._session.admin.delete_consumer_groups(wanted, request_timeout=self._session.request_seconds)
        for name, future in futures.items():
            with suppress(NotFound):
                self._session.results({name: future}, f"delete the group {name}")

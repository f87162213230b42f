"""The rules of a protection group's principals, kept in KafkaUser resources of Strimzi, one for each principal.

Each resource is replaced by compare-and-set on its ``resourceVersion``, as a whole: rules of its owners stay as they
are. An annotation holds the epoch of the last change: a process with a smaller one changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kafka_dr import parallel
from kafka_dr.access_rules import kafka_user
from kafka_dr.access_rules.kafka_user import Resource
from kafka_dr.access_rules.port import BeforeEach
from kafka_dr.clusters import Acl, AclPermission
from kafka_dr.clusters.shared_read import SharedRead
from kafka_dr.errors import NeedsPerson, Refused, TryAgain
from kafka_dr.kubernetes import KubernetesApi, ObjectChanged, path_of

#: How often somebody else may change a resource while it is being changed here.
_TRIES = 10
_AT_ONCE = 8


@dataclass(slots=True)
class KafkaUsers:
    """The KafkaUser resources of a group's principals on one cluster.

    :param namespace: theirs
    :param version: of ``kafka.strimzi.io``
    :param principals: whose rules are read
    :param declared: names of resources that differ from their principals'
    """

    api: KubernetesApi
    namespace: str
    version: str
    group: str
    principals: Sequence[str]
    declared: Mapping[str, str]
    #: The API server and Strimzi serve others, too.
    pause_seconds: float = 0.5
    _seen: dict[str, Resource] = field(default_factory=dict)
    _changed: set[str] = field(default_factory=set)

    @property
    def where(self) -> str:
        """The resources."""
        return f"the KafkaUser resources of {self.namespace}"

    @property
    def _kind(self) -> str:
        return f"/apis/kafka.strimzi.io/{self.version}/namespaces/{self.namespace}/kafkausers"

    def read(self) -> frozenset[Acl]:
        """Return every rule of these principals; a principal without a resource has none."""
        found = parallel.ask_all(self._found, self.principals, at_most=_AT_ONCE)
        self._seen = {who: resource for who, resource in found.items() if resource is not None}
        return frozenset().union(*(self._rules(who, resource) for who, resource in self._seen.items()))

    def change(self, *, adding: frozenset[Acl], removing: frozenset[Acl], before_each: BeforeEach | None) -> None:
        """Change several resources at the same time, in two steps: all rights are taken away before any is given.

        Threads that need ``before_each`` at the same time share a call of it, which begins after all of them need it.
        """
        permitted = None if before_each is None else SharedRead(before_each)
        for added, removed in _closed_first(adding, removing):
            self._change_all(added, removed, permitted)

    def _change_all(self, adding: frozenset[Acl], removing: frozenset[Acl], before_each: BeforeEach | None) -> None:
        added, removed = _by_principal(adding), _by_principal(removing)

        def change(principal: str) -> None:
            gets, loses = added.get(principal, frozenset()), removed.get(principal, frozenset())
            self._change(principal, gets, loses, before_each)

        parallel.ask_all(change, sorted({*added, *removed}), at_most=_AT_ONCE)

    def _change(
        self, principal: str, adding: frozenset[Acl], removing: frozenset[Acl], before_each: BeforeEach | None
    ) -> None:
        name = self._name(principal)
        for _ in range(_TRIES):
            resource = self._found(principal)
            if resource is None and not adding:
                return
            if resource is None:
                raise Refused(
                    f"there is no KafkaUser {name} in the namespace {self.namespace}, so {principal} cannot be denied "
                    "anything: create it, or name that of this principal in users of access_rules"
                )
            if not kafka_user.is_of(resource, principal):
                raise Refused(
                    f"the KafkaUser {name} is of User:{resource['status']['username']}, and the topology means "
                    f"{principal}: correct the principal, or name its KafkaUser in users of access_rules"
                )
            try:
                new = kafka_user.with_rules(resource, principal, adding=adding, removing=removing)
                known = kafka_user.epoch_of(resource, self.group)
            except ValueError as error:
                raise self._damaged(name, error) from error
            if new is None:
                return
            epoch = known if before_each is None else before_each()
            if epoch < known:
                raise Refused(
                    f"the KafkaUser {name} has rules of {self.group} of epoch {known}, and this process has epoch "
                    f"{epoch}: nothing was changed"
                )
            try:
                new = kafka_user.with_epoch(new, self.group, epoch)
                self._seen[principal] = self.api.replace(path_of(self._kind, name), new)
                self._changed.add(principal)
                return
            except ObjectChanged:
                continue
        raise TryAgain(
            f"the KafkaUser {name} was changed by others {_TRIES} times while it was to be changed: see who does that"
        )

    def apply(self, *, seconds: float) -> None:
        """Do nothing: Strimzi watches its resources."""

    def waits_for(self) -> str:
        """Return what Strimzi has not applied of what was changed here."""
        changed = (self._seen[who] for who in sorted(self._changed & self._seen.keys()))
        return next(filter(None, map(kafka_user.not_ready, changed)), "")

    def _found(self, principal: str) -> Resource | None:
        return self.api.read(path_of(self._kind, self._name(principal)))

    def _rules(self, principal: str, resource: Resource) -> frozenset[Acl]:
        try:
            return kafka_user.rules_of(resource, principal)
        except ValueError as error:
            raise self._damaged(self._name(principal), error) from error

    def _name(self, principal: str) -> str:
        return kafka_user.user_name(principal, self.declared)

    def _damaged(self, name: str, why: object) -> NeedsPerson:
        return NeedsPerson(f"the KafkaUser {name} of {self.namespace} cannot be understood: {why}. Nothing was changed")


def _closed_first(adding: frozenset[Acl], removing: frozenset[Acl]) -> Iterator[tuple[frozenset[Acl], frozenset[Acl]]]:
    """Yield what is to be added and removed: first what takes rights away, then what gives them."""
    denied, given = (_with(adding, permission) for permission in (AclPermission.DENY, AclPermission.ALLOW))
    yield denied, _with(removing, AclPermission.ALLOW)
    yield given, _with(removing, AclPermission.DENY)


def _with(acls: frozenset[Acl], permission: AclPermission) -> frozenset[Acl]:
    return frozenset(acl for acl in acls if acl.permission is permission)


def _by_principal(acls: frozenset[Acl]) -> dict[str, frozenset[Acl]]:
    found: dict[str, set[Acl]] = {}
    for acl in acls:
        found.setdefault(acl.principal, set()).add(acl)
    return {principal: frozenset(of_it) for principal, of_it in found.items()}

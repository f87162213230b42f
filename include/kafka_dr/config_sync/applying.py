"""Applying a plan's changes to the standby, in an order that never opens what should be fenced.

1. DENYs are added;
2. topics are created, partitions added, configurations and quotas set;
3. the standby's fence is seen to be whole, and each DENY of the plan to be in place; only then ALLOWs are added:
   whatever they permit, a DENY that was there before them refuses;
4. ALLOWs are removed, and last DENYs.

Before each batch the two clusters are compared again: a row that is no longer what was shown is not applied, and is
named. Then the caller's guard is asked. One change that fails does not keep the others from being made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from kafka_dr.clock import Clock
from kafka_dr.clusters import Acl, AclPermission, KafkaCluster
from kafka_dr.clusters.configuration import QuotaEntity
from kafka_dr.config_sync.items import AddAcl, AddPartitions, CreateTopic, Item, RemoveAcl, SetConfig, SetQuota
from kafka_dr.config_sync.plan import Plan
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError, Refused, TryAgain
from kafka_dr.fencing.change import FRESH_SECONDS, is_permitted_now
from kafka_dr.waiting import wait_until

#: How long a DENY that was acknowledged may take to be seen, and how often it is looked for.
_SEEN_SECONDS = 5.0

#: Looks at the register, the clusters' ids and the lock, and raises unless changes may still be made.
Guard = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Failure:
    """A change that was not made, or whose outcome is unknown."""

    item: Item
    reason: str


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes that are sent together.

    :param prepare: puts in place what has to be there first, and returns the plan of a moment when it was
    """

    items: tuple[Item, ...]
    send: Callable[[Collection[Item]], list[Failure]]
    prepare: Callable[[], Plan] | None = None


class Applying:
    """Makes changes on a standby.

    :param standby: reached as the operator
    :param compare: makes the plan of this moment
    :param ensure_fence: puts the missing DENYs of the standby's fence in place, and keeps them in the register
    """

    def __init__(
        self,
        standby: KafkaCluster,
        *,
        compare: Callable[[], Plan],
        guard: Guard,
        ensure_fence: Callable[[], None],
        clock: Clock,
    ) -> None:
        self._standby = standby
        self._compare = compare
        self._guard = guard
        self._ensure_fence = ensure_fence
        self._clock = clock

    def make(self, items: Collection[Item], *, seen: Plan) -> tuple[Failure, ...]:
        """Make the changes of these rows, and return those that failed.

        :param seen: the plan of this moment, which saves the first batch a comparison
        :raises Refused: the guard said no; what was not changed yet is left as it is
        """
        failures: list[Failure] = []
        known: Plan | None = seen
        for batch in self._batches(items):
            if batch.items:
                failures += self._sent(batch, known)
                known = None
        return tuple(failures)

    def _batches(self, items: Collection[Item]) -> Iterator[Batch]:
        def of(*kinds: type) -> tuple[Item, ...]:
            return tuple(item for item in items if isinstance(item.change, kinds))

        def acls(kind: type, permission: AclPermission) -> tuple[Item, ...]:
            return tuple(item for item in of(kind) if _permission(item) is permission)

        yield Batch(acls(AddAcl, AclPermission.DENY), self._add_acls)
        yield Batch(of(CreateTopic), self._create)
        yield Batch(of(AddPartitions), self._add_partitions)
        yield Batch(of(SetConfig), self._set_configs)
        yield Batch(of(SetQuota), self._set_quotas)
        yield Batch(acls(AddAcl, AclPermission.ALLOW), self._add_acls, prepare=self._shut)
        yield Batch(acls(RemoveAcl, AclPermission.ALLOW), self._remove_acls)
        yield Batch(acls(RemoveAcl, AclPermission.DENY), self._remove_acls)

    def _sent(self, batch: Batch, known: Plan | None) -> list[Failure]:
        try:
            plan = batch.prepare() if batch.prepare else known or self._compare()
        except Refused:
            raise
        except KafkaDrError as error:
            return [Failure(item, f"not sent: {error}") for item in batch.items]
        now = {item.about: item for item in plan.items}
        same = tuple(item for item in batch.items if now.get(item.about) == item)
        stale = [Failure(item, _since(now.get(item.about))) for item in batch.items if now.get(item.about) != item]
        if not same:
            return stale
        self._permitted()
        return [*stale, *batch.send(same)]

    def _shut(self) -> Plan:
        """Wait until the fence and every DENY is in place: without them, an ALLOW would open the standby."""
        self._ensure_fence()
        plan = wait_until(
            self._compare,
            lambda found: not any(map(_is_new_deny, found.items)),
            clock=self._clock,
            seconds=_SEEN_SECONDS,
        )
        if missing := next(filter(_is_new_deny, plan.items), None):
            raise TryAgain(f"nothing is allowed before {missing.subject} is in place")
        return plan

    def _permitted(self) -> None:
        if not is_permitted_now(self._guard, self._clock):
            raise TryAgain(
                f"{self._standby.name}: the register could not be read within {duration(FRESH_SECONDS)} before a "
                "change: nothing more was changed, plan again"
            )

    def _create(self, items: Collection[Item]) -> list[Failure]:
        wanted = [item.change.topic for item in items if isinstance(item.change, CreateTopic)]
        return _failed(items, self._standby.configs.create(wanted))

    def _add_partitions(self, items: Collection[Item]) -> list[Failure]:
        totals = {item.change.topic: item.change.total for item in items if isinstance(item.change, AddPartitions)}
        return _failed(items, self._standby.configs.add_partitions(totals))

    def _set_configs(self, items: Collection[Item]) -> list[Failure]:
        values: dict[str, dict[str, str]] = {}
        for item in items:
            if isinstance(item.change, SetConfig):
                values.setdefault(item.change.topic, {})[item.change.key] = item.change.value
        return _failed(items, self._standby.configs.set(values))

    def _set_quotas(self, items: Collection[Item]) -> list[Failure]:
        wanted = [item.change for item in items if isinstance(item.change, SetQuota)]
        limits: dict[tuple[QuotaEntity, str], float | None] = {(c.entity, c.key): c.limit for c in wanted}
        try:
            errors = self._standby.quotas.change(limits)
        except KafkaDrError as error:
            return [Failure(item, str(error)) for item in items]
        return _failed(items, {str(entity): error for entity, error in errors.items()})

    def _add_acls(self, items: Collection[Item]) -> list[Failure]:
        return _together(items, self._standby.acls.add, [i.change.acl for i in items if isinstance(i.change, AddAcl)])

    def _remove_acls(self, items: Collection[Item]) -> list[Failure]:
        wanted = [item.change.acl for item in items if isinstance(item.change, RemoveAcl)]
        return _together(items, self._standby.acls.remove, wanted)


def _since(now: Item | None) -> str:
    """Say what became of a row that was shown: a change of what nobody saw is not made."""
    if now is None:
        return "became stale: it differs no longer, or can no longer be seen"
    return f"became stale, plan again; now it is {now}"


def _is_new_deny(item: Item) -> bool:
    return isinstance(item.change, AddAcl) and item.change.acl.permission is AclPermission.DENY


def _permission(item: Item) -> AclPermission | None:
    return item.change.acl.permission if isinstance(item.change, (AddAcl, RemoveAcl)) else None


def _together(items: Collection[Item], send: Callable[[Collection[Acl]], None], acls: Collection[Acl]) -> list[Failure]:
    """Send ACLs that the cluster answers as one; after an error, reading back shows which were accepted."""
    try:
        send(acls)
    except KafkaDrError as error:
        return [Failure(item, str(error)) for item in items]
    return []


def _failed(items: Collection[Item], errors: dict[str, KafkaDrError]) -> list[Failure]:
    """Return the rows whose subject could not be changed."""
    return [Failure(item, str(errors[item.subject])) for item in items if item.subject in errors]

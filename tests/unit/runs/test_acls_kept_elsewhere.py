"""DENYs of a cluster whose own register is unusable: recorded elsewhere first, and lifted by that record."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.errors import Refused
from kafka_dr.fencing.change import AclChanges
from kafka_dr.register.added_acls import AddedAcls
from kafka_dr.register.kept_acls import KeptByItself
from kafka_dr.register.port import RegisterUnusable
from kafka_dr.runs.acls_kept_elsewhere import KeptElsewhere
from support.manual_clock import ManualClock
from support.memory_register import MemoryRegister
from support.register_states import a_state
from support.waiting import eventually

FENCE, FLOW = (
    Acl(ResourceType.TOPIC, "orders.", PatternType.PREFIXED, principal, AclOperation.WRITE, AclPermission.DENY)
    for principal in ("User:orders-app", "User:replicator")
)


class Unusable(MemoryRegister):
    """A register without a leader, until it has one."""

    works = False

    def added_acls(self, group: str, cluster: str) -> AddedAcls:
        self._require()
        return super().added_acls(group, cluster)

    def change_added_acls(self, group: str, cluster: str, change: Callable[[AddedAcls], AddedAcls]) -> None:
        self._require()
        super().change_added_acls(group, cluster, change)

    def _require(self) -> None:
        if not self.works:
            raise RegisterUnusable("the register of east has no leader")


class Rules:
    """The ACLs of one cluster."""

    cluster, is_direct = "east", True

    def __init__(self, recorded: Callable[[], frozenset[Acl]]) -> None:
        self.there: set[Acl] = set()
        self._recorded = recorded

    def list(self) -> frozenset[Acl]:
        return frozenset(self.there)

    def leaving(self, _: frozenset[Acl]) -> frozenset[Acl]:
        return frozenset()

    def coming(self, _: frozenset[Acl]) -> frozenset[Acl]:
        return frozenset()

    def add(self, acls: frozenset[Acl], *, before_each: Callable[[], object] = lambda: None) -> None:
        before_each()
        assert acls <= self._recorded(), "a DENY is added before it is recorded"
        self.there |= acls

    def remove(self, acls: frozenset[Acl], *, before_each: Callable[[], object] = lambda: None) -> None:
        before_each()
        self.there -= acls


class GivenUpCluster:
    def __init__(self) -> None:
        self.own, self.decides, self.holds, self.epoch = Unusable(), MemoryRegister(), True, 1000
        self.rules = Rules(lambda: self.decides.added_acls("orders", "east").current)

    def changes(self, *, kept_by_itself: bool = False) -> AclChanges:
        def permission() -> object:
            if not self.holds:
                raise Refused("another run holds the group")
            return a_state(epoch=self.epoch)

        return AclChanges(
            "orders",
            self.rules,  # type: ignore[arg-type]
            KeptByItself("orders", "east", self.own)
            if kept_by_itself
            else KeptElsewhere("orders", "east", self.own, self.decides),
            permission=permission,  # type: ignore[arg-type]
            required=lambda: None,
            clock=ManualClock(),
        )


def test_a_cluster_without_its_register_is_fenced_and_exactly_what_was_added_is_lifted() -> None:
    world = GivenUpCluster()
    world.rules.there.add(FLOW)
    assert world.changes().add([FENCE]) == {FENCE}
    assert world.changes().lift([FENCE, FLOW]) == {FENCE}
    assert world.rules.there == {FLOW}, "of that nobody knows who added it"


def test_its_own_register_gets_what_was_added_as_soon_as_it_takes_records() -> None:
    world = GivenUpCluster()
    world.own.works = True
    world.own.change_added_acls("orders", "east", lambda found: found.adding({FLOW}, epoch=1))
    world.rules.there.add(FLOW)
    world.changes().add([FENCE])
    eventually(lambda: world.own.added_acls("orders", "east").current == {FENCE, FLOW}, seconds=10)
    assert world.changes().lift([FENCE, FLOW]) == {FENCE, FLOW}


@pytest.mark.parametrize("works", [True, False], ids=["its register takes records", "it is unusable meanwhile"])
def test_what_a_failback_lifted_and_a_later_run_adds_again_is_lifted_by_its_roll_back(works: bool) -> None:
    """No look of dr_health has shown the other register meanwhile what was lifted."""
    world = GivenUpCluster()
    world.own.works = True
    world.changes().add([FENCE])
    eventually(lambda: world.own.added_acls("orders", "east").current == {FENCE}, seconds=10)
    world.epoch = 2000
    assert world.changes(kept_by_itself=True).lift([FENCE]) == {FENCE}
    world.epoch, world.own.works = 3000, works
    assert world.changes().add([FENCE]) == {FENCE}
    world.epoch, world.own.works = 3001, True
    assert world.changes().lift([FENCE]) == {FENCE}
    assert not world.rules.there


def test_a_run_that_lost_the_group_adds_nothing_and_records_nothing() -> None:
    world = GivenUpCluster()
    world.holds = False
    with pytest.raises(Refused):
        world.changes().add([FENCE])
    assert not world.rules.there
    assert not world.decides.added_acls("orders", "east").current

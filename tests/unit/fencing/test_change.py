"""Whose record says which DENYs may be lifted, when a worker wakes up after somebody else has gone on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

import pytest

from kafka_dr.access_rules.port import BeforeEach
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.errors import Refused
from kafka_dr.fencing.change import AclChanges
from kafka_dr.register.kept_acls import KeptByItself
from support.manual_clock import ManualClock
from support.memory_register import MemoryRegister
from support.register_states import a_state

DENY = Acl(
    ResourceType.TOPIC, "orders.", PatternType.PREFIXED, "User:app", AclOperation.WRITE, AclPermission.DENY
)  # fmt: skip


class HeldUpAcls:
    """The access rules of west; what is called after a removal happens while the worker is held up."""

    cluster, is_direct = "west", True

    def __init__(self) -> None:
        self.there: set[Acl] = set()
        self.held_up: Callable[[], object] = lambda: None

    def list(self) -> frozenset[Acl]:
        return frozenset(self.there)

    def leaving(self, _: frozenset[Acl]) -> frozenset[Acl]:
        return frozenset()

    coming = leaving

    def add(self, acls: Iterable[Acl], *, before_each: BeforeEach | None = None) -> None:
        if before_each:
            before_each()
        self.there |= {*acls}

    def remove(self, acls: Iterable[Acl], *, before_each: BeforeEach | None = None) -> None:
        if before_each:
            before_each()
        self.there -= {*acls}
        held_up, self.held_up = self.held_up, lambda: None
        held_up()


def test_a_worker_that_was_held_up_leaves_the_record_to_whoever_has_the_group_now() -> None:
    acls, register, holder = HeldUpAcls(), MemoryRegister(), ["run"]

    def changes(run: str) -> AclChanges:
        def permission() -> None:
            if holder != [run]:
                raise Refused("the register says otherwise")

        return AclChanges(
            "orders",
            acls,
            KeptByItself("orders", "west", register),
            permission=permission,
            required=lambda: None,
            clock=ManualClock(),
        )

    def fenced_again() -> None:
        holder[:] = ["roll back"]
        changes("roll back").add([DENY])

    changes("run").add([DENY])
    acls.held_up = fenced_again
    with pytest.raises(Refused):
        changes("run").lift([DENY])

    assert acls.there == {DENY}
    assert not changes("roll back").foreign([DENY]), "it was added here, so that it can be lifted"
    assert changes("roll back").lift([DENY]) == {DENY}
    assert not acls.there
    assert not register.added_acls("orders", "west").current


def test_a_deny_that_another_owner_adds_after_the_next_claim_stays_although_this_project_once_lifted_it() -> None:
    acls, register, epoch = HeldUpAcls(), MemoryRegister(), [3]
    changes = AclChanges(
        "orders",
        acls,
        KeptByItself("orders", "west", register),
        permission=lambda: a_state(epoch=epoch[0]),
        required=lambda: None,
        clock=ManualClock(),
    )
    changes.add([DENY])
    changes.lift([DENY])
    acls.there.add(DENY)
    assert not changes.foreign([DENY]), "a request of this epoch may have come late"

    epoch[0] = 4
    assert changes.foreign([DENY]) == {DENY}
    assert changes.lift([DENY]) == frozenset()
    changes.add([DENY, dataclasses.replace(DENY, name="other.")])
    assert changes.lift([DENY]) == frozenset()
    assert DENY in acls.there

"""Only what was added here is ever lifted, wherever a run is killed."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from kafka_dr.access_rules import BrokerRules
from kafka_dr.clock import Clock, SystemClock
from kafka_dr.clusters import Acl, AclOperation, AclPermission, ClientSettings, KafkaCluster, PatternType, ResourceType
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.fencing.change import AclChanges, Permission
from kafka_dr.register import KafkaRegister
from kafka_dr.register.kept_acls import KeptByItself
from lab.api import Lab
from lab.rights import OPERATOR
from support.manual_clock import ManualClock
from support.switched_group import Killed

pytestmark = pytest.mark.kafka


class Fence:
    """A protection group's ACLs on the lab's east."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self.cluster = cluster
        self.group = f"g{uuid.uuid4().hex[:8]}"
        self.register = KafkaRegister(cluster, SystemClock())
        #: What the newest record requires of the cluster; ``None`` while a run moves the group.
        self.required: frozenset[Acl] | None = frozenset()
        self.first, self.second = (
            Acl(ResourceType.TOPIC, f"{self.group}.", PatternType.PREFIXED, principal, AclOperation.WRITE,
                AclPermission.DENY)
            for principal in ("User:orders-app", "User:probe")
        )  # fmt: skip

    def changes(self, permission: Permission = lambda: None, clock: Clock | None = None) -> AclChanges:
        return AclChanges(
            self.group,
            BrokerRules(self.cluster),
            KeptByItself(self.group, "east", self.register),
            permission=permission,
            required=lambda: self.required,
            clock=clock or SystemClock(),
        )

    def standing(self) -> set[Acl]:
        return {acl for acl in self.cluster.acls.list() if acl.name == f"{self.group}."}

    def recorded(self) -> frozenset[Acl]:
        return self.register.added_acls(self.group, "east").current


@pytest.fixture
def fence(lab: Lab) -> Iterator[Fence]:
    with KafkaCluster("east", ClientSettings.from_librdkafka(lab.client_settings("east", OPERATOR))) as cluster:
        made = Fence(cluster)
        made.register.create(replication_factor=1)
        yield made
        cluster.acls.remove([made.first, made.second])


def test_what_was_added_is_lifted_and_nothing_is_left(fence: Fence) -> None:
    both = {fence.first, fence.second}
    assert fence.changes().add([fence.first], [fence.second]) == both
    assert fence.standing() == fence.recorded() == both
    assert fence.changes().add([fence.first], [fence.second]) == frozenset()
    assert fence.changes().lift(both) == both
    assert fence.standing() == fence.recorded() == set()
    assert fence.changes().lift(both) == frozenset()


def test_each_stage_follows_the_answer_to_the_one_before(fence: Fence) -> None:
    seen: list[set[Acl]] = []
    fence.changes(lambda: seen.append(fence.standing())).add([fence.first], [], [fence.second])
    assert seen[-3:] == [set(), {fence.first}, {fence.first, fence.second}], "and it is asked after the last one"


def test_a_deny_that_was_there_before_is_named_and_never_lifted(fence: Fence) -> None:
    fence.cluster.acls.add([fence.first])
    assert fence.changes().add([fence.first], [fence.second]) == {fence.second}
    assert fence.changes().foreign([fence.first, fence.second]) == {fence.first}
    assert fence.changes().lift([fence.first, fence.second]) == {fence.second}
    assert fence.standing() == {fence.first}


@pytest.mark.parametrize("permitted", [2, 3])
def test_a_run_killed_before_a_stage_was_added_is_lifted_or_finished(fence: Fence, permitted: int) -> None:
    asked: list[None] = []

    def permission() -> None:
        asked.append(None)
        if len(asked) > permitted:
            raise Killed

    with pytest.raises(Killed):
        fence.changes(permission).add([fence.first], [fence.second])
    assert fence.recorded() == {fence.first, fence.second}, "what is added is known before it is added"
    assert fence.standing() == ({fence.first} if permitted == 3 else set())
    if permitted == 3:
        assert fence.changes().add([fence.first], [fence.second]) == {fence.second}
        assert fence.standing() == {fence.first, fence.second}
    assert fence.changes().lift([fence.first, fence.second])
    assert fence.standing() == fence.recorded() == set()


def test_a_run_killed_between_removing_and_forgetting_leaves_nothing_that_matters(fence: Fence) -> None:
    fence.changes().add([fence.first])
    fence.cluster.acls.remove([fence.first])
    assert fence.changes().lift([fence.first]) == {fence.first}
    assert fence.standing() == fence.recorded() == set()


def test_without_permission_nothing_changes_not_even_the_record(fence: Fence) -> None:
    def no() -> None:
        raise Refused("the register says otherwise")

    with pytest.raises(Refused):
        fence.changes(no).add([fence.first])
    assert fence.standing() == fence.recorded() == set()
    fence.changes().add([fence.first])
    with pytest.raises(Refused):
        fence.changes(no).lift([fence.first])
    assert fence.standing() == fence.recorded() == {fence.first}


def test_a_permission_that_took_more_than_a_second_is_stale(fence: Fence) -> None:
    clock = ManualClock()
    slow = fence.changes(lambda: clock.advance(1.5), clock)
    with pytest.raises(TryAgain, match="the change was not made, run the step again"):
        slow.add([fence.first])
    assert fence.standing() == fence.recorded() == set()


def _held_up(then: Callable[[], object], *, after: int) -> Permission:
    """Return a permission that is given, and after which the process is held up while ``then`` happens."""
    asked: list[None] = []

    def ask() -> None:
        asked.append(None)
        if len(asked) == after:
            then()
        elif len(asked) > after:
            raise Refused("the register says otherwise")

    return ask


def test_denies_that_are_sent_after_they_were_lifted_are_taken_back_and_stay_known(fence: Fence) -> None:
    """The permission is asked before the record, while it is changed, and before the request: the third is the last."""
    late = fence.changes(_held_up(lambda: fence.changes().lift([fence.first]), after=3), ManualClock())
    with pytest.raises(Refused):
        late.add([fence.first])
    assert fence.standing() == set()
    # One whose process died before it could correct itself is known, too.
    fence.cluster.acls.add([fence.first])
    assert not fence.changes().foreign([fence.first])
    assert fence.changes().lift([fence.first]) == {fence.first}
    assert fence.standing() == set()


@pytest.mark.parametrize("moving", [True, False])
def test_a_lift_that_is_sent_after_another_run_has_fenced_is_made_good(fence: Fence, *, moving: bool) -> None:
    def fenced_by_the_next_run() -> None:
        fence.changes().lift([fence.first])
        fence.changes().add([fence.first])
        fence.required = None if moving else frozenset({fence.first})

    fence.changes().add([fence.first])
    with pytest.raises(Refused):
        fence.changes(_held_up(fenced_by_the_next_run, after=1), ManualClock()).lift([fence.first])
    assert fence.standing() == fence.recorded() == {fence.first}


def test_many_are_lifted_by_few_filters_and_what_others_added_stays(fence: Fence) -> None:
    principals = [f"User:{fence.group}-{number}" for number in range(20)]
    many = {_deny(fence, f"{number}", principal) for number in range(20) for principal in principals}
    theirs = {_deny(fence, "0", principals[0], AclOperation.DESCRIBE), _deny(fence, "theirs", principals[1])}
    try:
        fence.cluster.acls.add(theirs)
        assert fence.changes().add(many) == many
        assert fence.recorded() == many
        added_since = _deny(fence, "since", principals[2])
        # Right before the first request, and after the others were looked at.
        permission = _once(lambda: fence.cluster.acls.add([added_since]))
        assert fence.changes(permission).lift(many) == many
        left = {acl for acl in fence.cluster.acls.list() if acl.name.startswith(fence.group)}
        assert left == {*theirs, added_since}
    finally:
        fence.cluster.acls.remove(acl for acl in fence.cluster.acls.list() if acl.name.startswith(fence.group))


@pytest.mark.long
def test_a_fence_of_27_000_denies_is_added_and_lifted_while_the_controller_still_answers(fence: Fence) -> None:
    """A controller takes 10,000 at once, and looks at every ACL for each filter: it was away for minutes."""
    operations = (*AclOperation,)[:6]
    many = {
        _deny(fence, f"{topic}", f"User:{fence.group}-{principal}", operation)
        for topic in range(150)
        for principal in range(30)
        for operation in operations
    }
    assert fence.changes().add(many) == many
    assert fence.changes().lift(many) == many
    assert not {acl for acl in fence.cluster.acls.list() if acl.name.startswith(fence.group)}


def _deny(fence: Fence, name: str, principal: str, operation: AclOperation = AclOperation.WRITE) -> Acl:
    return Acl(
        ResourceType.TOPIC, f"{fence.group}.{name}", PatternType.LITERAL, principal, operation, AclPermission.DENY
    )


def _once(act: Callable[[], None]) -> Permission:
    left = [act]

    def ask() -> None:
        if left:
            left.pop()()

    return ask

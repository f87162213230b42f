"""Rules that somebody else applies: written again if they are lost, applied again after a death, waited for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_dr.access_rules.desired import DesiredRules
from kafka_dr.access_rules.port import BeforeEach
from kafka_dr.clusters import Acl, AclOperation, AclPermission, ClusterUnreachable, PatternType, ResourceType
from kafka_dr.errors import Refused, TryAgain
from support.manual_clock import ManualClock

DENY = Acl(ResourceType.TOPIC, "orders.", PatternType.PREFIXED, "User:app", AclOperation.WRITE, AclPermission.DENY)
ALLOW = replace(DENY, principal="User:dr-operator", permission=AclPermission.ALLOW)


@dataclass
class TwoBrokersOfOthers:
    """What is wanted, and two brokers that get it when it is applied and some looks have passed.

    :param looks: how many looks at the brokers pass before a broker has what was applied
    """

    looks: int = 1
    state: set[Acl] = field(default_factory=set)
    brokers: dict[int, frozenset[Acl]] = field(default_factory=lambda: {1: frozenset(), 2: frozenset()})
    done: list[str] = field(default_factory=list)
    on_look: Callable[[], object] = lambda: None
    seen_denies: list[bool] = field(default_factory=list)
    where: str = "the file"
    pause_seconds: float = 0.1
    waiting: str = ""

    def read(self) -> frozenset[Acl]:
        return frozenset(self.state)

    def change(self, *, adding: frozenset[Acl], removing: frozenset[Acl], before_each: BeforeEach | None) -> None:
        if before_each:
            before_each()
        self.state = (self.state | adding) - removing
        self.done.append("written")

    def apply(self, *, seconds: float) -> None:
        self.done.append("applied")

    def waits_for(self) -> str:
        return self.waiting

    def of_brokers(self, *, only_denies: bool) -> dict[int, frozenset[Acl]]:
        self.seen_denies.append(only_denies)
        self.on_look()
        if "applied" in self.done and len(self.seen_denies) > self.looks:
            self.brokers = dict.fromkeys(self.brokers, frozenset(self.state))
        return dict(self.brokers)

    def rules(self, seconds: float = 10) -> DesiredRules:
        reached = SimpleNamespace(
            name="east",
            acls=SimpleNamespace(list=lambda: self.brokers[1]),
            acls_of_brokers=SimpleNamespace(list=self.of_brokers),
        )
        return DesiredRules(cast("Any", reached), self, ManualClock(), seconds)


def test_a_rule_is_written_and_applied_and_the_call_returns_when_every_broker_has_it() -> None:
    kept = TwoBrokersOfOthers(looks=4)
    kept.rules().add([DENY])
    assert kept.done == ["written", "applied"]
    assert set(kept.brokers.values()) == {frozenset({DENY})}
    kept.rules().remove([DENY])
    assert set(kept.brokers.values()) == {frozenset()}
    assert kept.rules().list() == frozenset()


def test_what_is_written_and_not_in_force_comes_and_what_is_in_force_and_not_written_leaves() -> None:
    kept = TwoBrokersOfOthers(state={DENY}, brokers={1: frozenset({ALLOW})})
    both = frozenset({DENY, ALLOW})
    assert kept.rules().coming(both) == {DENY}
    assert kept.rules().leaving(both) == {ALLOW}


def test_what_is_written_and_in_force_needs_nothing() -> None:
    kept = TwoBrokersOfOthers(state={DENY}, brokers={1: frozenset({DENY})})
    kept.rules().add([DENY])
    kept.rules().add([])
    kept.rules().remove([ALLOW])
    assert kept.done == []


def test_what_an_interrupted_process_wrote_is_applied_again_once() -> None:
    kept = TwoBrokersOfOthers(looks=5, state={DENY})
    kept.rules().add([DENY])
    assert kept.done == ["applied"]


def test_one_broker_that_lacks_it_is_waited_for_and_named() -> None:
    kept = TwoBrokersOfOthers(looks=10_000, state={DENY}, brokers={1: frozenset({DENY}), 2: frozenset()})
    with pytest.raises(TryAgain, match="broker 2 of east lacks 1 rule, such as DENY WRITE on topic orders"):
        kept.rules().add([DENY])
    with pytest.raises(TryAgain, match=r"broker 1 of east still has 1 rule,.*10 s after the file says so"):
        kept.rules().remove([DENY])


def test_somebody_who_writes_an_older_state_over_it_does_not_win() -> None:
    kept = TwoBrokersOfOthers(looks=6)

    def saved_by_a_person() -> None:
        if len(kept.seen_denies) == 3:
            kept.state.clear()

    kept.on_look = saved_by_a_person
    permitted: list[int] = []

    def before_each() -> int:
        permitted.append(1)
        return 1

    kept.rules().add([DENY], before_each=before_each)
    assert kept.done == ["written", "applied"] * 2
    assert len(permitted) == 2, "each write has to be permitted"
    assert kept.state == {DENY}


def test_a_process_that_may_no_longer_write_stops_waiting() -> None:
    kept = TwoBrokersOfOthers(looks=10_000)
    kept.on_look = lambda: kept.state.clear()
    answers = iter([1])

    def before_each() -> int:
        for answer in answers:
            return answer
        raise Refused("the register says otherwise")

    with pytest.raises(Refused, match="the register says otherwise"):
        kept.rules().add([DENY], before_each=before_each)


def test_a_broker_that_does_not_answer_is_asked_again_until_the_deadline() -> None:
    kept = TwoBrokersOfOthers(looks=1)

    def silent() -> None:
        if len(kept.seen_denies) < 5:
            raise ClusterUnreachable("broker 2 does not answer")

    kept.on_look = silent
    kept.rules().add([DENY])
    assert kept.state == {DENY}

    kept.on_look = lambda: (_ for _ in ()).throw(ClusterUnreachable("broker 2 does not answer"))
    with pytest.raises(ClusterUnreachable):
        kept.rules().remove([DENY])


def test_what_is_known_to_be_under_way_is_waited_for_although_brokers_have_it() -> None:
    kept = TwoBrokersOfOthers(state={DENY}, brokers={1: frozenset({DENY})}, waiting="app is not ready")
    with pytest.raises(TryAgain, match="app is not ready, 10 s after the file says so"):
        kept.rules().add([DENY])


def test_brokers_are_asked_for_denies_alone_unless_a_right_is_given() -> None:
    kept = TwoBrokersOfOthers(looks=0)
    kept.rules().add([DENY])
    kept.rules().add([DENY, ALLOW])
    assert kept.seen_denies[0]
    assert not kept.seen_denies[-1]

"""The old replication gets its positions once, whatever its owner has made of it meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_dr.adoption.handing_back import POSITIONS_GIVEN, denies_lifted, hand_over, let_run, lift_all, runs_again
from kafka_dr.clock import SystemClock
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType, TopicPartition
from kafka_dr.errors import Refused
from kafka_dr.replication.existing.mirrormaker_connect import MirrorMakerOnConnect
from kafka_dr.replication.existing.owned_process import OwnedProcess, OwnersCommands
from kafka_dr.replication.existing.port import ExistingStatus, PartStatus
from kafka_dr.replication.settings import CONNECTOR_CLASS, IDENTITY
from support.connect_api import ConnectApi, reached_connect
from support.fake_registers import FakeRegisters
from support.manual_clock import ManualClock
from support.sentences import assert_sentence

P = TopicPartition("orders.payments", 0)
CONFIG = {"connector.class": CONNECTOR_CLASS, "topics": "orders.payments", "replication.policy.class": IDENTITY}
RAN = ExistingStatus((PartStatus("old", "running"),))


class Guard:
    """Permits every change, or none; and remembers how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.refuses = False

    def require(self) -> None:
        self.asked += 1
        if self.refuses:
            raise Refused("another process holds the run")


class Handing:
    """One run that hands positions over to one connector."""

    def __init__(self, api: ConnectApi, existing: MirrorMakerOnConnect) -> None:
        self.api, self.existing, self.guard = api, existing, Guard()
        self.registers = FakeRegisters()
        self.run: Any = SimpleNamespace(
            source="east",
            clients=self.registers.clients(),
            request=SimpleNamespace(run="r"),
            group=SimpleNamespace(name="orders", timing=SimpleNamespace(step_deadline_seconds=5)),
            write_fact=lambda name, fact: self.registers.register("east").write_fact("orders", "r", name, fact),
        )

    def hand_over(self, **positions: int) -> str:
        wanted = {P: positions["payments"]}
        return str(hand_over(self.run, self.guard, self.existing, wanted))  # type: ignore[arg-type]

    def let_run(self) -> str:
        return let_run(self.run, self.guard, self.existing, RAN)  # type: ignore[arg-type]

    @property
    def position(self) -> int | None:
        return self.api.offsets["old"].get((P.topic, 0))

    @property
    def is_journaled(self) -> bool:
        return POSITIONS_GIVEN in self.registers.register("east").facts("orders", "r")


@pytest.fixture
def handing() -> Iterator[Handing]:
    api = ConnectApi({"old": CONFIG})
    with reached_connect(api) as connect:
        yield Handing(api, MirrorMakerOnConnect(connect, ["old"], owns=bool, worker_group=None, clock=SystemClock()))


def test_one_that_its_owner_resumed_and_that_failed_by_the_deny_gets_its_positions_and_runs(handing: Handing) -> None:
    handing.existing.stop(5)
    handing.api.states["old"] = "RUNNING"
    handing.api.failed.add("old")

    assert_sentence(handing.hand_over(payments=30))
    assert (handing.position, handing.is_journaled) == (29, True)
    handing.let_run()
    assert runs_again("existing_runs_again", handing.existing, RAN).outcome == "ok"


def test_positions_are_given_once_in_a_run_also_if_it_runs_and_has_copied_since(handing: Handing) -> None:
    handing.existing.stop(5)
    handing.hand_over(payments=30)
    handing.let_run()
    handing.api.offsets["old"][P.topic, 0] = 44
    assert_sentence(handing.hand_over(payments=30))
    assert (handing.position, handing.api.states["old"]) == (44, "RUNNING")


def test_a_try_that_died_before_it_was_journaled_is_made_again(handing: Handing) -> None:
    handing.existing.stop(5)
    handing.run.write_fact = lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        handing.hand_over(payments=30)
    assert not handing.is_journaled
    handing.run.write_fact = lambda name, fact: handing.registers.register("east").write_fact("orders", "r", name, fact)
    assert_sentence(handing.hand_over(payments=30))
    assert (handing.position, handing.is_journaled) == (29, True)


def test_one_that_was_deleted_is_named_and_keeps_nothing_from_being_undone(handing: Handing) -> None:
    del handing.api.configs["old"]
    assert_sentence(handing.hand_over(payments=30))
    assert_sentence(handing.let_run())
    found = runs_again("existing_runs_again", handing.existing, RAN)
    assert found.outcome == "excused"
    assert_sentence(found.detail)


def test_a_process_that_lost_the_run_gives_nothing_and_stops_nothing(handing: Handing) -> None:
    handing.guard.refuses = True
    with pytest.raises(Refused, match="another process"):
        handing.hand_over(payments=30)
    assert (handing.position, handing.api.states["old"], handing.is_journaled) == (None, "RUNNING", False)


def test_what_was_unknown_before_is_not_called_good_until_it_runs(handing: Handing) -> None:
    was = ExistingStatus((PartStatus("old", "unknown"),))
    handing.existing.stop(5)
    found = runs_again("existing_runs_again", handing.existing, was)
    assert found.outcome == "unknown"
    assert_sentence(found.detail)
    handing.api.states["old"] = "RUNNING"
    assert runs_again("existing_runs_again", handing.existing, was).outcome == "ok"


def test_a_process_that_nobody_can_ask_is_left_to_a_look_of_a_person() -> None:
    process = OwnedProcess("external", OwnersCommands())
    assert runs_again("existing_runs_again", process, process.status()).outcome == "excused"


@pytest.mark.parametrize("in_force", [False, True])
def test_a_deny_that_was_lifted_and_is_still_in_force_is_named(in_force: bool) -> None:
    """A lift takes it from the list of what is added, whether or not the cluster has followed."""
    deny = Acl(
        ResourceType.TOPIC, "orders.", PatternType.PREFIXED, "User:app", AclOperation.WRITE, AclPermission.DENY
    )  # fmt: skip
    others = replace(deny, principal="User:others")
    registers = FakeRegisters().by_cluster
    registers["west"].change_added_acls(
        "orders", "west", lambda found: found.adding({deny}, epoch=2).lifting({deny}, epoch=2)
    )
    run: Any = SimpleNamespace(
        source="east",
        target="west",
        further_standbys=(),
        epoch=2,
        clock=ManualClock(),
        group=SimpleNamespace(name="orders"),
        clients=SimpleNamespace(register=registers.__getitem__),
        rules_in_force=lambda cluster: {deny, others} if in_force and cluster == "west" else {others},
    )

    found = denies_lifted(run)

    again: list[frozenset[Acl]] = []
    none = dict.fromkeys(("literal_topics", "topic_prefixes", "consumer_groups", "consumer_group_prefixes"), ())
    run.group = SimpleNamespace(
        name="orders",
        canary_topic="orders.dr-canary",
        existing_replication=None,
        clusters=(),
        origins=(),
        member_of=None,
        **none,
    )
    run.group.on = lambda _: run.group
    run.group.closes_topics, run.group.renames_copies = True, False

    def lift(*stages: frozenset[Acl]) -> frozenset[Acl]:
        again.extend(stages)
        return stages[-1]

    run.acl_changes = lambda *_: SimpleNamespace(lift=lift)
    assert lift_all(run, "west", Guard()) == 1  # type: ignore[arg-type]
    assert again[-1] == {deny}, "the next try lifts it again, and nothing of others"
    assert found.outcome == ("failed" if in_force else "ok")
    assert_sentence(found.detail)


def test_one_that_failed_after_it_was_let_run_is_not_called_good(handing: Handing) -> None:
    handing.api.failed.add("old")
    found = runs_again("existing_runs_again", handing.existing, RAN)
    assert found.outcome == "failed"
    assert_sentence(found.detail)

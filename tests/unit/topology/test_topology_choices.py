from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from kafka_dr.topology.model import Topology
from kafka_dr.topology.readers import GroupsPolicy

Edit = Callable[..., str]
Load = Callable[[str], Topology]
Complain = Callable[[str], tuple[str, ...]]
POLICY = "    groups_policy: {{start: mm2_checkpoint, start_of: {{{name}: latest}}, not_moved: [{left}]}}\n"


def test_a_group_starts_as_chosen_for_it_or_as_chosen_for_all(edited: Edit, load_text: Load) -> None:
    policy = load_text(edited(more=POLICY.format(name="orders-x", left="ledger"))).group("orders").groups_policy
    assert (policy.start_for("orders-x"), policy.start_for("ledger")) == ("latest", "mm2_checkpoint")
    assert load_text(edited(more="")).group("orders").groups_policy.start_for("ledger") == "exact"


@pytest.mark.parametrize(
    ("name", "left", "said"),
    [
        ("stranger", "ledger", "groups_policy.start_of.stranger: 'stranger' is none of this group's consumer groups"),
        ("ledger", "stranger", "groups_policy.not_moved[0]: 'stranger' is none of this group's consumer groups"),
    ],
)
def test_a_choice_for_a_stranger_is_a_mistake(
    edited: Edit, mistakes_in: Complain, name: str, left: str, said: str
) -> None:
    assert any(said in found for found in mistakes_in(edited(more=POLICY.format(name=name, left=left))))


@pytest.mark.parametrize("written", ["2026-11-27T04:03:00Z", "'2026-11-27T05:03:00+01:00'"])
def test_a_start_time_is_a_moment_with_its_zone(edited: Edit, load_text: Load, written: str) -> None:
    more = f"    groups_policy: {{start_of: {{ledger: at_time}}, start_time: {written}}}\n"
    policy = load_text(edited(more=more)).group("orders").groups_policy
    assert policy.start_time == datetime(2026, 11, 27, 4, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("start: at_time", "at_time needs to know the time"),
        ("unknown_offsets: at_time", "at_time needs to know the time"),
        ("start_of: {ledger: at_time}", "at_time needs to know the time"),
        ("start_time: 2026-11-27T04:03:00Z", "no choice is at_time"),
        ("start: at_time, start_time: 2026-11-27T04:03:00", "start_time"),
    ],
)
def test_a_time_and_the_choice_of_it_need_each_other(
    edited: Edit, mistakes_in: Complain, policy: str, said: str
) -> None:
    assert any(said in found for found in mistakes_in(edited(more=f"    groups_policy: {{{policy}}}\n")))


def test_what_a_requester_chose_counts_instead_of_what_is_declared() -> None:
    declared, at = GroupsPolicy(start_of={"ledger": "latest"}), datetime(2026, 11, 27, tzinfo=UTC)
    every, some = declared.beginning(at, "all"), declared.beginning(at, "unknown")
    assert (every.start_for("ledger"), every.start_for("other"), every.start_time) == ("at_time", "at_time", at)
    assert (some.start_for("ledger"), some.start_for("other"), some.unknown_offsets) == ("latest", "exact", "at_time")


MOVED = "    groups_policy: {{not_moved: [{left}], streams_moved: [{moved}]}}\n"


def test_an_application_that_moves_with_its_state_is_one_of_the_groups_and_is_not_left_behind(
    edited: Edit, load_text: Load, mistakes_in: Complain
) -> None:
    policy = load_text(edited(more=MOVED.format(left="ledger", moved="orders-x"))).group("orders").groups_policy
    assert policy.streams_moved == ("orders-x",)
    both = mistakes_in(edited(more=MOVED.format(left="ledger", moved="ledger")))
    assert any("groups_policy.streams_moved[0]: 'ledger' is in not_moved" in found for found in both)
    stranger = mistakes_in(edited(more=MOVED.format(left="ledger", moved="stranger")))
    assert any("streams_moved[0]: 'stranger' is none of this group's consumer groups" in found for found in stranger)


def test_a_start_that_nobody_knows_is_a_mistake(edited: Edit, mistakes_in: Complain) -> None:
    assert mistakes_in(edited(more="    groups_policy: {start: yesterday}\n"))


READERS = "    readers: {{undeclared: refuse, principals: ['{principal}'], consumer_groups: [{group}]}}\n"


def test_readers_are_declared_by_name_or_beginning(edited: Edit, load_text: Load) -> None:
    readers = load_text(edited(more=READERS.format(principal="User:lake", group="lake"))).group("orders").readers
    assert (readers.undeclared, readers.knows_group("lake"), readers.knows_group("lake-2")) == ("refuse", True, False)
    assert load_text(edited(more="")).group("orders").readers.undeclared == "warn"


@pytest.mark.parametrize(
    ("principal", "group", "said"),
    [
        ("User:orders-app", "lake", "readers.principals[0]: 'User:orders-app' is among the group's principals"),
        ("User:lake", "orders-x", "readers.consumer_groups[0]: 'orders-x' is one of this group's consumer groups"),
    ],
)
def test_who_moves_is_no_reader_that_stays(
    edited: Edit, mistakes_in: Complain, principal: str, group: str, said: str
) -> None:
    assert any(said in found for found in mistakes_in(edited(more=READERS.format(principal=principal, group=group))))


def test_the_audit_has_a_principal_of_its_own(edited: Edit, mistakes_in: Complain) -> None:
    assert mistakes_in(edited(more="    audit_principal: User:orders-app\n"))

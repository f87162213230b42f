from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_dr.topology.model import Topology

Edit = Callable[..., str]
Load = Callable[[str], Topology]
Complain = Callable[[str], tuple[str, ...]]
POLICY = "    groups_policy: {{start: mm2_checkpoint, start_of: {{{name}: latest}}, left_behind: [{left}]}}\n"


def test_a_group_starts_as_chosen_for_it_or_as_chosen_for_all(edited: Edit, load_text: Load) -> None:
    policy = load_text(edited(more=POLICY.format(name="orders-x", left="ledger"))).group("orders").groups_policy
    assert (policy.start_for("orders-x"), policy.start_for("ledger")) == ("latest", "mm2_checkpoint")
    assert load_text(edited(more="")).group("orders").groups_policy.start_for("ledger") == "exact"


@pytest.mark.parametrize(
    ("name", "left", "said"),
    [
        ("stranger", "ledger", "groups_policy.start_of.stranger: 'stranger' is none of this group's consumer groups"),
        ("ledger", "stranger", "groups_policy.left_behind[0]: 'stranger' is none of this group's consumer groups"),
    ],
)
def test_a_choice_for_a_stranger_is_a_mistake(
    edited: Edit, mistakes_in: Complain, name: str, left: str, said: str
) -> None:
    assert any(said in found for found in mistakes_in(edited(more=POLICY.format(name=name, left=left))))


MOVED = "    groups_policy: {{left_behind: [{left}], streams_moved: [{moved}]}}\n"


def test_an_application_that_moves_with_its_state_is_one_of_the_groups_and_is_not_left_behind(
    edited: Edit, load_text: Load, mistakes_in: Complain
) -> None:
    policy = load_text(edited(more=MOVED.format(left="ledger", moved="orders-x"))).group("orders").groups_policy
    assert policy.streams_moved == ("orders-x",)
    both = mistakes_in(edited(more=MOVED.format(left="ledger", moved="ledger")))
    assert any("groups_policy.streams_moved[0]: 'ledger' is in left_behind" in found for found in both)
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

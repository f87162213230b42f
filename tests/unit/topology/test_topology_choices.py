from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_dr.topology import Topology

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


def test_a_start_that_nobody_knows_is_a_mistake(edited: Edit, mistakes_in: Complain) -> None:
    assert mistakes_in(edited(more="    groups_policy: {start: yesterday}\n"))

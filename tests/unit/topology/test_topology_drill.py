"""How a drill is declared, and what would let it touch more than its own or could never come true."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_dr.topology.model import Topology

DRILL = """\
    drill:
      principal: User:drill
      connections: {east: e_drill, west: w_drill}
"""


def test_a_drill_needs_a_principal_and_its_connections_and_a_person_approves_it(
    edited: Callable[..., str], load_text: Callable[[str], Topology]
) -> None:
    spec = load_text(edited(more=DRILL)).group("orders").drill
    assert spec is not None
    assert (spec.approval, spec.every_days, spec.kinds, spec.windows) == ("person", None, ("planned",), ())
    assert load_text(edited()).group("orders").drill is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("User:drill", "User:orders-app", "'User:orders-app' is also in principals of group 'orders'"),
        ("User:drill", "User:admin", "'User:admin' is also in super_users of group 'orders'"),
        ("User:drill", "User:probe", "'User:probe' is also in probe_principal of group 'orders'"),
        ("east: e_drill, ", "", "there is no connection of the drill's principal on 'east'"),
        ("east: e_drill", "east: e_drill, north: n", "'north' is none of the group's clusters"),
        ("e_drill", "e_probe", "'e_probe' is the connection of a role"),
        ("e_drill", "w_drill", "two clusters have the same connection"),
        ("principal: User", "every_days: 30\n      principal: User", "nobody would approve them"),
        ("principal: User", "kinds: [planned, planned]\n      principal: User", "'planned' is given twice"),
        ("principal: User", 'windows: ["Mon 16:00-09:00"]\n      principal: User', "ends before it begins"),
        ("principal: User", 'windows: ["Mon 9-16"]\n      principal: User', "'Mon 9-16' is written here"),
    ],
)
def test_each_mistake_in_a_drill_is_named(
    edited: Callable[..., str], mistakes_in: Callable[[str], tuple[str, ...]], old: str, new: str, said: str
) -> None:
    assert DRILL.count(old) == 1
    (mistake,) = mistakes_in(edited(more=DRILL.replace(old, new)))
    assert said in mistake


def test_names_of_drills_belong_to_no_real_group_and_to_no_person(
    edited: Callable[..., str], mistakes_in: Callable[[str], tuple[str, ...]]
) -> None:
    (named,) = mistakes_in(
        edited(
            ("  orders:\n", "  kafka-dr-drill-orders:\n"), ("[payments]", "[payments, kafka-dr-drill-orders.dr-canary]")
        )
    )
    assert "names that begin with kafka-dr-drill- belong to drills" in named
    (signed,) = mistakes_in(edited(("approvers: [alice]", 'approvers: ["a drill, no person"]')))
    assert "is how the approval of a drill is signed that no person gave" in signed

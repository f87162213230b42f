"""A drill of a group with two standbys goes to one of them and back, and leaves nothing on any cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_dr.drill import conduct
from kafka_dr.drill.beginning import remaining
from kafka_dr.topology.drill import DrillSpec
from kafka_dr.topology.objectives import Objectives
from lab import rights
from support.three_clusters import GroupOfThree

if TYPE_CHECKING:
    from lab.api import Lab

pytestmark = [pytest.mark.kafka, pytest.mark.long]
#: No test asserts a time, also not through an objective.
_NOT_JUDGED = Objectives(rpo_seconds=300.0, rto_seconds=300.0, write_outage_seconds=300.0)


def test_a_drill_goes_to_the_standby_that_is_named_and_makes_nothing_on_the_other(three: Lab, tmp_path: Path) -> None:
    names = three.settings.names
    spec = DrillSpec(
        principal=f"User:{rights.DRILL}",
        connections={name: f"kafka_{name}_drill" for name in names},
        approval="automatic",
        topics=2,
        partitions=2,
        load_seconds=1,
    )
    group, said = GroupOfThree.adopt(three, tmp_path, drill=spec, objectives=_NOT_JUDGED), list[str]()
    active, (first, second) = group.state.active, group.state.standbys
    before = group.state
    with group.protection.clients() as clients:
        made_on: dict[str, set[str]] = {name: set() for name in names}

        def say(sentence: str) -> None:
            said.append(sentence)
            for name in names:
                made_on[name] |= {each for each in clients.cluster(name, "operator").topics.names() if "drill" in each}

        for number, standby in enumerate((second, first), 1):
            drill_id = f"2026010100000{number}"
            conduct.begin(group.name, "planned", drill_id, clients, requester="", standby=standby)
            conduct.carry_out(group.name, drill_id, clients, say, requester="")
            result = conduct.conclude(group.name, drill_id, clients, say)
            assert result is not None
            assert result.passed, f"{result.why}\n{said}"
            there, back = result.legs
            assert (there.source, there.target, back.source, back.target) == (active, standby, standby, active)
            assert [(leg.lost, leg.reordered) for leg in result.legs] == [(0, 0), (0, 0)]
            if standby == second:
                assert (bool(made_on[active]), bool(made_on[second]), made_on[first]) == (True, True, set())
        assert remaining(group.protection.group, clients) == ()
    assert group.state == before

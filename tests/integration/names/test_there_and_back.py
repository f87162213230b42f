"""A group whose copies have other names moves to the target's own topics and back, and each group reads on exactly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_dr.runs.request import StepName
from lab import rights
from lab.api import Lab
from support import outside_view
from support.named_group import NamedGroup, NamedProtection, named_protection

pytestmark = pytest.mark.kafka


#: With a point, a group moves there and back in the tests next to this one and in those of take overs.
@pytest.fixture(params=[pytest.param(".", marks=pytest.mark.long), "-"])
def protection(request: pytest.FixtureRequest, lab: Lab, tmp_path: Path) -> Iterator[NamedProtection]:
    with named_protection(lab, tmp_path, request.param) as made:
        yield made


def test_groups_continue_in_copies_and_originals_there_and_back(protection: NamedProtection) -> None:
    group = NamedGroup.adopt(protection)
    name, local, copy = group.name, group.local, group.copy
    group.write("east", (f"e{n}".encode() for n in range(300)))
    group.wait_copied()
    read = {
        f"{name}-head": {local(0): 150, local(1): 150, copy(0, "west"): 0, copy(1, "west"): 0},
        f"{name}-slow": {local(0): 17, local(1): 33, copy(0, "west"): 0, copy(1, "west"): 0},
    }
    for consumer_group, offsets in read.items():
        protection.commit("east", consumer_group, offsets)

    unread = {g: group.unread("east", offsets) for g, offsets in read.items()}
    there = group.move()
    assert group.active == "west"
    moved = outside_view.committed(protection, "west")
    for consumer_group, values in unread.items():
        found = group.unread("west", moved[consumer_group])
        assert found == {copy(n, "east"): values[local(n)] for n in range(2)} | dict.fromkeys((local(0), local(1)))
        assert [moved[consumer_group][local(n)] for n in range(2)] == [0, 0]
    classes = {row["class"] for row in there[StepName.CUT_OVER_GROUPS].facts["groups"]}
    assert classes == {"exact"}
    assert list(group.flow_states()) == ["running", "running"], "neither flow was stopped"
    assert not group.refused("west", rights.PROBE, local(0))
    assert group.refused("west", rights.PROBE, copy(0, "east")), "a copy is never opened"
    assert group.refused("east", rights.PROBE, local(0))

    group.write("west", (f"w{n}".encode() for n in range(100)))
    group.wait_copied()
    # One group has read what west wrote, and not all of the copy; the other one the other way round.
    protection.commit("west", f"{name}-slow", {**moved[f"{name}-slow"], local(0): 50, local(1): 49})
    protection.commit("west", f"{name}-head", {**moved[f"{name}-head"], local(0): 3})
    before = outside_view.committed(protection, "west")
    unread = {g: group.unread("west", offsets) for g, offsets in before.items()}
    group.move()
    assert group.active == "east"
    after = outside_view.committed(protection, "east")
    for consumer_group, values in unread.items():
        found = group.unread("east", after[consumer_group])
        for number in range(2):
            assert found[local(number)] == values[copy(number, "east")]
            assert found[copy(number, "west")] == values[local(number)]
    assert after[f"{name}-slow"][local(0)] == 17
    assert after[f"{name}-head"][copy(0, "west")] == 3

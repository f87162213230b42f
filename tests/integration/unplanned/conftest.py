"""Each test loses the active cluster of a group, and lets it answer again before the test ends.

A test that leaves its group stable hands it to the next test; a test that cannot do that takes a group of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lab.api import Lab
    from support.disaster import Disaster
    from support.protection import Protection
    from support.switched_group import SwitchedGroup


@pytest.fixture(scope="session")
def _shared(folder_end: ExitStack) -> list[SwitchedGroup]:
    """Hold the groups that one test hands to the next, the newest last; their flows are deleted at the end."""
    made: list[SwitchedGroup] = []

    def delete_flows() -> None:
        for group in made:
            group.protection.delete_flows()

    folder_end.callback(delete_flows)
    return made


@pytest.fixture
def passing(lab: Lab, tmp_path_factory: pytest.TempPathFactory, _shared: list[SwitchedGroup]) -> Iterator[Disaster]:
    """Return a disaster that ends: after the test its group is stable, and the next test uses it."""
    from support.disaster import adopted, disaster_is_over
    from support.protection import Protection
    from support.switched_group import SwitchedGroup

    if not _shared or not _shared[-1].is_at_rest():
        _shared.append(adopted(Protection(lab, tmp_path_factory.mktemp("group"))))
    group = SwitchedGroup(_shared[-1].protection)
    declared = dict(group.protection.changes)
    made = disaster_at_rest(group)
    yield made
    disaster_is_over(made)
    group.protection.changes.clear()
    group.protection.changes.update(declared)


@pytest.fixture
def disaster(protection: Protection) -> Iterator[Disaster]:
    """Return a group of the test's own that is about to lose its active cluster."""
    from support.disaster import adopted, disaster_is_over

    made = disaster_at_rest(adopted(protection))
    yield made
    disaster_is_over(made)


def disaster_at_rest(group: SwitchedGroup) -> Disaster:
    """Return a group with a fresh last look, as ``dr_canary`` takes it every minute."""
    from support.disaster import Disaster

    made = Disaster.of(group)
    made.look()
    return made

"""A lab of three clusters of this folder's own: each can be copied to each other one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lab.api import Lab
    from support.three_clusters import GroupOfThree

CLUSTERS = ("east", "west", "north")


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory, own_port_base: int) -> Iterator[Lab]:
    """Return the lab, without Airflow."""
    from lab.api import Lab

    lab = Lab(tmp_path_factory.mktemp("standbys") / "home", port_base=own_port_base, clusters=len(CLUSTERS))
    try:
        lab.up(airflow=False)
        yield lab
    finally:
        lab.down(delete=True)


@pytest.fixture(scope="module")
def group(three: Lab, tmp_path_factory: pytest.TempPathFactory) -> GroupOfThree:
    """Return a group on all three clusters, adopted, with both flows running."""
    from support.three_clusters import GroupOfThree

    return GroupOfThree.adopt(three, tmp_path_factory.mktemp("group"))

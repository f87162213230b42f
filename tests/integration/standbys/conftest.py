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
    from support.clusters_of_their_own import clusters_of_their_own

    with clusters_of_their_own(tmp_path_factory.mktemp("standbys"), own_port_base, len(CLUSTERS)) as lab:
        yield lab


@pytest.fixture(scope="module")
def group(three: Lab, tmp_path_factory: pytest.TempPathFactory) -> GroupOfThree:
    """Return a group on all three clusters, adopted, with both flows running."""
    from support.three_clusters import GroupOfThree

    return GroupOfThree.adopt(three, tmp_path_factory.mktemp("group"))

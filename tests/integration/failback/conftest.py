"""Groups for the tests of this folder, which lose their active cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.old_cluster import OldClusterGroup
    from support.protection import Protection


@pytest.fixture
def left(protection: Protection) -> OldClusterGroup:
    """Return a group that is adopted on east and flows to west."""
    from support.old_cluster import OldClusterGroup

    protection.adopt()
    return OldClusterGroup(protection)

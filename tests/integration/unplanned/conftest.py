"""Each test loses the active cluster of a group of its own, and lets it return before it ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.disaster import Disaster
    from support.protection import Protection


@pytest.fixture
def disaster(protection: Protection) -> Iterator[Disaster]:
    """Return a group that is about to lose its active cluster, which is back when the test is over."""
    from support.disaster import Disaster, disaster_is_over
    from support.switching import Switching

    timing = protection.group.timing.model_copy(update={"confirm_seconds": 0.2})
    protection.changes["timing"] = timing
    made = Disaster.of(Switching.adopt(protection))
    made.look()
    yield made
    disaster_is_over(made)

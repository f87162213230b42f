"""Members that are adopted, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lab.api import Lab
    from support.members import Members


@pytest.fixture
def members(lab: Lab, tmp_path: Path) -> Iterator[Members]:
    """Yield adopted members, whose flows run."""
    from support.members import members_of

    with members_of(lab, tmp_path) as made:
        yield made

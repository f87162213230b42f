"""Groups for the tests of this folder, which lose their active cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from support.old_cluster import OldClusterGroup
    from support.protection import Protection


@pytest.fixture
def left(protection: Protection) -> OldClusterGroup:
    """Return a group that is adopted on east and flows to west."""
    from support.old_cluster import OldClusterGroup

    protection.adopt()
    return OldClusterGroup(protection)


@pytest.fixture
def auditor(left: OldClusterGroup, spark: SparkSession, tmp_path: Path) -> Callable[[], None]:
    """Return a function that audits the flow to the old cluster and must find nothing."""
    from support.checksum import Auditor

    audit = Auditor(left.protection, spark, tmp_path)

    def green() -> None:
        found = audit("--full", flow=f"{left.protection.name}.west-to-east")
        assert found.code == 0, found.report["findings"]

    return green

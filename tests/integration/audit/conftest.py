from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.checksum import Auditor
from support.plain_flow import PlainFlow
from support.protection import Protection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def flowing(protection: Protection) -> Iterator[PlainFlow]:
    """A group of the test's own, written on east; its flow is not started yet."""
    with protection.clients() as clients:
        yield PlainFlow(protection, clients)


@pytest.fixture
def audit(flowing: PlainFlow, spark: SparkSession, tmp_path: Path) -> Auditor:
    """What audits that group's flow, by the job itself."""
    return Auditor(flowing.protection, spark, tmp_path)

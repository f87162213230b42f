"""The list of stranded records, made as the job makes it and read as anybody could."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow.parquet as pq

from support.auditing import job_environ, topology_file
from support.protection import Protection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Listed:
    """How the job ended, and what it left.

    :param folder: of the list
    """

    code: int
    folder: Path

    @property
    def summary(self) -> dict[str, Any]:
        return cast("dict[str, Any]", json.loads((self.folder / "summary.json").read_text()))

    @property
    def records(self) -> list[dict[str, Any]]:
        """Every record of the list that has its content, by topic, partition and offset."""
        files = [self.folder / row["path"] for row in self.summary["files"]]
        rows = [row for file in files for row in pq.read_table(file, partitioning=None).to_pylist()]
        rows = [row for row in rows if not row.pop("erased", False)]
        return sorted(rows, key=lambda row: (row["topic"], row["partition"], row["offset"]))

    @property
    def values(self) -> list[bytes]:
        return sorted(row["value"] for row in self.records)


def list_stranded(protection: Protection, spark: SparkSession, *, run: str, cluster: str | None = None) -> Listed:
    """Run the job in the shared session.

    :param run: the name of the list that it makes
    :param cluster: which cluster's records are listed; the job finds out where ``None``
    """
    from jobs.stranded.job import main

    @contextmanager
    def shared(_name: str) -> Iterator[SparkSession]:
        yield spark

    arguments = ["--topology", str(topology_file(protection)), "--group", protection.name]
    arguments += ["--cluster", cluster] if cluster else []
    code = main(arguments, job_environ(protection), shared)
    return Listed(code, protection.folder / "evidence" / "stranded" / protection.name / run)

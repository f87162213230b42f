"""The Spark jobs of a drill's way back, run in the shared session with the real group's topology, as a task does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.auditing import job_environ, topology_file
from support.protection import Protection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class DrillJobs:
    """See :class:`~kafka_dr.drill.copy_jobs.CopyJobs`.

    :param protection: the real group
    """

    protection: Protection
    spark: SparkSession

    def list_stranded(self, group: str) -> str:
        from jobs.stranded.job import main

        return self._ended(main(["--group", group, *self._topology()], job_environ(self.protection), self._lent))

    def audit_whole(self, flow: str, out: str) -> str:
        from jobs.checksum.job import main

        arguments = ["--flow", flow, "--out", out, "--full", *self._topology()]
        return self._ended(main(arguments, job_environ(self.protection), self._lent))

    def _topology(self) -> list[str]:
        return ["--topology", str(topology_file(self.protection))]

    @contextmanager
    def _lent(self, _name: str) -> Iterator[SparkSession]:
        yield self.spark

    @staticmethod
    def _ended(code: int) -> str:
        return "" if code in (0, 1) else f"exit code {code}"

"""The folder by which a task and a shared Spark application speak: the requests, and how each audit ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafka_dr_airflow.operators.flow_audit import FlowAudit


@dataclass(frozen=True, slots=True)
class AuditEnding:
    """How one audit ended, as the application says.

    :param code: 0 good, 1 findings, 2 unknown
    :param said: in one sentence
    :param seconds: how long it took
    """

    code: int
    said: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class SharedFolder:
    """Such a folder, on this machine: the driver runs here.

    :param path: it exists
    """

    path: Path

    def write(
        self,
        audits: Sequence[FlowAudit],
        more: Sequence[str],
        *,
        seconds: Callable[[FlowAudit], float],
        side_by_side: int,
    ) -> Path:
        """Write the requests, and return the file.

        :param more: of each checksum audit's command line
        :param seconds: how long an audit may take
        """
        requests = [
            {
                "audit": one.audit,
                "flow": one.name,
                "deadline_seconds": seconds(one),
                "ended": str(self._file(one)),
                "arguments": ["--out", one.out, *(more if one.audit == "checksum" else ())],
            }
            for one in audits
        ]
        file = self.path / "requests.json"
        file.write_text(json.dumps({"side_by_side": side_by_side, "requests": requests}), encoding="utf-8")
        return file

    def ended(self, one: FlowAudit) -> AuditEnding | None:
        """Return how an audit ended; ``None`` if it has not."""
        try:
            found = json.loads(self._file(one).read_bytes())
            return AuditEnding(int(found["code"]), str(found["said"]), float(found["seconds"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def has_ended(self, one: FlowAudit) -> bool:
        """Return whether an audit has ended."""
        return self.ended(one) is not None

    def problem(self, one: FlowAudit, of_all: str | None) -> str | None:
        """Return what is wrong, findings or no answer; ``None`` if all is good.

        :param of_all: what is wrong with the whole application
        """
        ended = self.ended(one)
        if ended is None:
            return of_all or "the application stopped without recording a result of this audit: see its log"
        return ended.said if ended.code else None

    def _file(self, one: FlowAudit) -> Path:
        return self.path / f"{one.name}.{one.audit}.json"

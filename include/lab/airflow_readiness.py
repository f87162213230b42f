"""When Airflow is ready: all four processes healthy, the task API warm, every DAG file read."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

SCHEDULER, DAG_PROCESSOR, TRIGGERER = "scheduler", "dag_processor", "triggerer"
SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ReadinessApi:
    """Airflow's API as one user sees it.

    :param url: where it answers.
    :param password: of the user ``admin``.
    """

    url: str
    password: str

    def is_healthy(self, *, since: datetime, started: frozenset[str]) -> bool:
        """Whether all parts say that they are healthy.

        :param started: the parts whose word from before ``since`` does not count: a dead one's last word lives on.
        """
        health = self._ask("/api/v2/monitor/health")
        if health is None:
            return False
        for part in (SCHEDULER, DAG_PROCESSOR, TRIGGERER):
            said = health.get(part) or {}
            heard = said.get(f"latest_{part}_heartbeat")
            if said.get("status") != "healthy" or heard is None:
                return False
            if part in started and datetime.fromisoformat(heard) < since:
                return False
        return True

    def is_warm(self) -> bool:
        """Whether the API that tasks speak with answers; its first answer takes seconds, which no task should wait."""
        return self._ask("/execution/health") is not None

    def unread(self, dags: Path) -> list[str]:
        """The DAG files that were not read yet, neither well nor with an error."""
        listed = self._ask("/api/v2/dags?limit=100", signed_in=True)
        errors = self._ask("/api/v2/importErrors?limit=100", signed_in=True)
        if listed is None or errors is None:
            return ["the list of DAGs"]
        known = {Path(dag["fileloc"]).name for dag in listed["dags"]}
        known |= {Path(error["filename"]).name for error in errors["import_errors"]}
        return sorted(path.name for path in dags.glob("*.py") if path.name not in known)

    def import_errors(self) -> list[str]:
        """The DAG files that cannot be read, each with the last line of the reason."""
        errors = self._ask("/api/v2/importErrors?limit=100", signed_in=True) or {"import_errors": []}
        return [
            f"{Path(error['filename']).name}: {error['stack_trace'].strip().splitlines()[-1]}"
            for error in errors["import_errors"]
        ]

    def _ask(self, path: str, *, signed_in: bool = False) -> dict[str, Any] | None:
        headers = {"Authorization": f"Bearer {self._token()}"} if signed_in else {}
        return _json(urllib.request.Request(self.url + path, headers=headers))  # noqa: S310 - our own loopback

    def _token(self) -> str:
        request = urllib.request.Request(  # noqa: S310 - our own loopback address
            f"{self.url}/auth/token",
            data=json.dumps({"username": "admin", "password": self.password}).encode(),
            headers={"Content-Type": "application/json"},
        )
        answer = _json(request)
        return str(answer["access_token"]) if answer else ""


def _json(request: urllib.request.Request) -> dict[str, Any] | None:
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as reply:  # noqa: S310 - our own loopback address
            answer = json.loads(reply.read())
    except (urllib.error.URLError, OSError, ValueError):
        return None
    return answer if isinstance(answer, dict) else None

"""Breaks the way through a disaster on purpose, as people, bugs and full disks do."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx
from confluent_kafka import KafkaException
from confluent_kafka.admin import AclBindingFilter, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from lab.clusters import PROTECTION_GROUP
from lab.demo.options import Sabotage
from lab.demo.run_evidence import RunEvidence
from lab.demo.sabotage import CALL_SECONDS, Saboteur
from lab.errors import LabError
from lab.invariants.kept_content import row_opener
from lab.rights import REPLICATOR
from lab.traffic.records import APPLICATION

#: After which step of the unplanned run, or of what follows it, the saboteur strikes.
_AFTER = {
    Sabotage.FENCE_LEFT_OPEN: "fence_on_return",
    Sabotage.FLOW_LEFT_RUNNING: "report",
    Sabotage.OFFSET_ONE_TOO_FAR: "cut_over_groups",
}
COPIED_SECONDS = 20.0
PATIENCE_SECONDS = 300.0


class DisasterSaboteur(Saboteur):
    """Waits for its moment after a disaster and strikes once.

    :param connect: cluster → address of its Connect
    :param stranded_lists: root of the lists of stranded records
    :param content_key: what an encrypted list is opened with
    """

    def __init__(
        self,
        kind: Sabotage,
        *,
        admin: Mapping[str, Mapping[str, str]],
        application: Mapping[str, Mapping[str, str]],
        logs: Path,
        reader: Callable[[], int],
        connect: Mapping[str, str],
        stranded_lists: Path,
        content_key: str,
    ) -> None:
        super().__init__(kind, admin=admin, application=application, logs=logs, reader=reader)
        self._connect = connect
        self._stranded_lists = stranded_lists
        self._content_key = content_key

    def _is_its_moment(self, evidence: RunEvidence) -> bool:
        step = _AFTER.get(self._kind)
        if step is not None:
            return evidence.done(step)
        return (self._list_of(evidence) / "summary.json").exists()

    def _list_of(self, evidence: RunEvidence) -> Path:
        self._list = self._stranded_lists / PROTECTION_GROUP / evidence.folder.name
        return self._list

    def _offset_one_too_far(self, source: str, target: str) -> str:
        return self._offset_plus_one(source, target)

    def _fence_left_open(self, source: str, _target: str) -> str:
        """The old cluster takes writes again after its fence was proven."""
        self._lift_write_denies(source)
        written = self._write_as_forgotten_application(source, times=3)
        return f"lifted the fence of {source} after its return; a forgotten application wrote {written} records there"

    def _flow_left_running(self, source: str, target: str) -> str:
        """The old flow is permitted again and appends what it had not copied, after newer records."""
        self._wait_until_back(source)
        denies = AclBindingFilter(
            ResourceType.TOPIC, None, ResourcePatternType.ANY, f"User:{REPLICATOR}", None, AclOperation.WRITE,
            AclPermissionType.DENY,
        )  # fmt: skip
        connector = f"dr.{PROTECTION_GROUP}.{source}-to-{target}"
        deadline = time.monotonic() + COPIED_SECONDS
        while time.monotonic() < deadline:
            (lifted,) = self._client(target).delete_acls([denies]).values()
            lifted.result(timeout=CALL_SECONDS)
            httpx.put(f"{self._connect[target]}/connectors/{connector}/resume", timeout=CALL_SECONDS)
            time.sleep(1.0)
        return f"let {connector} write on {target} again, and resumed it"

    def _stranded_dropped(self, _source: str, _target: str) -> str:
        """One record of the list of stranded records is gone."""
        import pyarrow.parquet as parquet

        summary = json.loads((self._list / "summary.json").read_text())
        opened = row_opener(summary, self._content_key)
        for entry in summary["files"]:
            path = self._list / entry["path"]
            table = parquet.read_table(path)
            own = [n for n, row in enumerate(table.to_pylist()) if _by_application(opened(row))]
            if own:
                kept = table.take([n for n in range(table.num_rows) if n != own[0]])
                parquet.write_table(kept, path)
                return f"dropped one record from {path.name} of the list of stranded records"
        raise LabError(f"the list in {self._list} holds no record of an application")

    def _wait_until_back(self, cluster: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                self._client(cluster).list_topics(timeout=CALL_SECONDS)
                return
            except KafkaException as error:
                if time.monotonic() > deadline or self._leave.is_set():
                    raise LabError(f"{cluster} never came back: {error}") from error


def _by_application(row: Mapping[str, object]) -> bool:
    headers = row["headers"]
    return isinstance(headers, list) and any(header["key"] == APPLICATION for header in headers)

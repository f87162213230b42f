"""The newest result of each kind of audit and each direction, one small JSON file each.

The programs that audit write it, the programs that decide read it; neither needs the libraries of the other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from kafka_dr.codec import StoredDocument, stored
from kafka_dr.json_documents import DocumentDamaged, JsonFile

_SCHEMA_VERSION = 1


class AuditKind(StrEnum):
    """What was audited."""

    CHECKSUM = "checksum"  # whether the copy equals the original, record by record
    LAG = "lag"  # the replication lag, and the lag of the consumer groups


class AuditVerdict(StrEnum):
    """What an audit says. Unknown never counts as good."""

    GREEN = "green"
    WARNING = "warning"  # there are findings, and none of them blocks a failover
    RED = "red"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class AuditResult(StoredDocument):
    """The result of one audit of one flow.

    :param epoch: of the DR register, whose flow was audited; ``None`` if it is not known
    :param at: when the ends of the logs were read, aware: nothing is said about later records
    :param sentence: the verdict in words
    :param behind_seconds: of a lag audit, the least age of the oldest record that was not copied; ``None`` if it is not
        known, and for other audits
    :param complete: of a checksum audit, up to when everything that the source had is verified on the target, by topic
    :param report: path of the whole report below the evidence root, or its URI; empty if none was kept
    """

    kind: AuditKind
    group: str
    source: str
    target: str
    epoch: int | None
    verdict: AuditVerdict
    at: datetime
    sentence: str
    report: str = ""
    behind_seconds: float | None = None
    complete: Mapping[str, datetime] = field(default_factory=dict, metadata=stored(omitted=True))

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise ValueError(f"the audit is stamped {self.at}, which has no time zone: pass an aware datetime")

    @property
    def sha256(self) -> str:
        """The digest of everything that the result says, in hex."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()


class ResultUnreadable(ValueError):
    """The result file exists, and it is not what an audit writes."""


class ResultStore:
    """Keeps the newest result of each kind of audit and each direction of a protection group.

    :param root: the evidence root: ``pathlib.Path``, or an object store's path with the same methods
    """

    def __init__(self, root: Any) -> None:
        self._root = root

    def newest(self, kind: AuditKind, *, group: str, source: str, target: str) -> AuditResult | None:
        """Return the newest result; ``None`` if none was ever kept.

        :raises ResultUnreadable: the file is damaged, or is about another flow or kind of audit
        :raises OSError: the storage does not answer
        """
        file = self._file(kind, group, source, target)
        try:
            found = file.read()
        except DocumentDamaged as error:
            raise ResultUnreadable(str(error)) from error
        if found and (found.kind, found.group, found.source, found.target) != (kind, group, source, target):
            about = f"the {found.kind} audit of {found.group} {found.source}→{found.target}"
            raise ResultUnreadable(f"{file.path} is about {about}, expected {kind} of {group} {source}→{target}")
        return found

    def write(self, result: AuditResult) -> bool:
        """Keep a result, unless a newer one is kept already.

        :returns: whether it was kept
        """
        try:
            kept = self.newest(result.kind, group=result.group, source=result.source, target=result.target)
        except ResultUnreadable:
            kept = None
        if kept is not None and kept.at > result.at:
            return False
        self._file(result.kind, result.group, result.source, result.target).write(result)
        return True

    def _file(self, kind: AuditKind, group: str, source: str, target: str) -> JsonFile[AuditResult]:
        path = self._root.joinpath("audits", group, str(kind), f"{source}-to-{target}", "newest.json")
        return JsonFile.of(AuditResult, path, _SCHEMA_VERSION, indent=1)

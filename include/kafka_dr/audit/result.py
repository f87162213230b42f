"""What an audit of a flow came to, kept as one small file for each kind and direction: the newest, and no other.

Programs that audit write it, whoever has to decide reads it; neither needs the other's libraries.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from kafka_dr.audit.whole_file import read_json, write_whole

_SCHEMA_VERSION = 1


class AuditKind(StrEnum):
    """What was audited."""

    CHECKSUM = "checksum"  # whether the copy is the original, record by record
    LAG = "lag"  # how far the copy and the groups are behind


class AuditVerdict(StrEnum):
    """What an audit says. Unknown is never good."""

    GREEN = "green"
    RED = "red"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What one audit of one flow came to.

    :param epoch: of the DR register, whose flow was audited; ``None`` where that could not be told
    :param at: when the ends of the logs were read, aware: nothing is said about later records
    :param sentence: the verdict in words
    :param behind_seconds: of a lag audit, how old the oldest record was that had not crossed, at least; ``None`` where
        that was not known, and for other audits
    :param report: where the whole report is, below the evidence root or as a URI; empty where none was kept
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

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise ValueError(f"the audit is stamped {self.at}, which has no time zone: pass an aware datetime")


class ResultUnreadable(ValueError):
    """There is a result, and it is not what an audit writes."""


class ResultStore:
    """Keeps the newest result of each kind of audit and each direction of a protection group.

    :param root: the evidence root: ``pathlib.Path``, or an object store's path with the same manners
    """

    def __init__(self, root: Any) -> None:
        self._root = root

    def newest(self, kind: AuditKind, *, group: str, source: str, target: str) -> AuditResult | None:
        """Return the newest result, or ``None`` where there never was one.

        :raises ResultUnreadable: what lies there is not whole, or says it is about something else
        :raises OSError: the storage does not answer
        """
        place = self._place(kind, group, source, target)
        try:
            found = _from_json(read_json(place, schema=_SCHEMA_VERSION))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise ResultUnreadable(f"{place} is not the result of an audit ({error})") from error
        if (found.kind, found.group, found.source, found.target) != (kind, group, source, target):
            raise ResultUnreadable(f"{place} is about the {found.kind} of {found.group} {found.source}→{found.target}")
        return found

    def write(self, result: AuditResult) -> bool:
        """Keep a result unless a newer one is there; whoever reads meanwhile sees the one or the other.

        :returns: whether it was kept
        """
        place = self._place(result.kind, result.group, result.source, result.target)
        try:
            kept = self.newest(result.kind, group=result.group, source=result.source, target=result.target)
        except ResultUnreadable:
            kept = None
        if kept is not None and kept.at > result.at:
            return False
        write_whole(place, json.dumps(_to_json(result), sort_keys=True, indent=1).encode())
        return True

    def _place(self, kind: AuditKind, group: str, source: str, target: str) -> Any:
        return self._root.joinpath("audits", group, str(kind), f"{source}-to-{target}", "newest.json")


def _to_json(result: AuditResult) -> dict[str, Any]:
    return {
        "schema_version": _SCHEMA_VERSION,
        "kind": str(result.kind),
        "group": result.group,
        "source": result.source,
        "target": result.target,
        "epoch": result.epoch,
        "verdict": str(result.verdict),
        "at": result.at.astimezone(UTC).isoformat(),
        "sentence": result.sentence,
        "report": result.report,
        "behind_seconds": result.behind_seconds,
    }


def _from_json(content: Any) -> AuditResult:
    epoch, behind = content["epoch"], content.get("behind_seconds")
    return AuditResult(
        kind=AuditKind(content["kind"]),
        group=str(content["group"]),
        source=str(content["source"]),
        target=str(content["target"]),
        epoch=None if epoch is None else int(epoch),
        verdict=AuditVerdict(content["verdict"]),
        at=datetime.fromisoformat(content["at"]),
        sentence=str(content["sentence"]),
        report=str(content["report"]),
        behind_seconds=None if behind is None else float(behind),
    )

"""What a drill found: passed or not, why, and by how much it met or missed each objective; one file for each drill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from kafka_dr.codec import StoredDocument
from kafka_dr.evidence.objectives import MeasuredObjective
from kafka_dr.evidence.storage_path import StoragePath, file_names
from kafka_dr.json_documents import JsonFile
from kafka_dr.topology.drill import DrillKind
from kafka_dr.topology.drill_group import DRILLS_FOLDER

_RESULT = "result.json"
_SCHEMA_VERSION = 1
#: ``begun``: nothing is measured yet, or its process died before. ``measured``: what it made is not removed yet.
DrillStage = Literal["begun", "measured", "ended"]


@dataclass(frozen=True, slots=True)
class DrillLeg:
    """One run of a drill, as its own application saw it. A failback moves no application and has no such times.

    :param decided_at: when its approval was given
    :param rto_seconds: from the last acknowledged write on the source, or from then, as the group's objectives say,
        to the first record that was written to the target and read there; ``None``: never
    :param write_outage_seconds: from the last acknowledged write on the source to the first one on the target
    :param rpo_seconds: age of the oldest acknowledged record that was lost, when the source was given up; 0: none was
    :param lost: how many acknowledged records the target does not hold
    :param reordered: how many records of the target come after a later one of their partition
    :param report: what the run's own report measured of a failover: RTO, RPO and write outage; of a failback: seconds
        until the copy had caught up, and how many records were stranded
    """

    verb: str
    run: str
    source: str
    target: str
    decided_at: datetime
    rto_seconds: float | None
    write_outage_seconds: float | None
    rpo_seconds: float | None
    acknowledged: int
    lost: int
    reordered: int
    report: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DrillResult(StoredDocument):
    """How a drill ended.

    :param stage: only of a drill that has ended it is known whether it passed
    :param passed: every objective met, nothing lost that may not be, and nothing left
    :param why: what was wrong, a sentence each; empty if it passed
    :param approved_by: a person, or that no person did
    :param requested_by: who triggered it; empty where no person did
    :param read_again: how many records its readers read more than once
    :param unread: how many acknowledged records its readers never read
    """

    group: str
    id: str
    kind: DrillKind
    active: str
    standby: str
    started_at: datetime
    ended_at: datetime
    passed: bool
    why: tuple[str, ...]
    approved_by: str
    requested_by: str = ""
    legs: tuple[DrillLeg, ...] = ()
    objectives: tuple[MeasuredObjective, ...] = ()
    read_again: int | None = None
    unread: int | None = None
    stage: DrillStage = "ended"

    @property
    def summary(self) -> str:
        """The result in one line."""
        said = "; ".join(each.words for each in self.objectives) or "nothing was measured"
        found = (
            f"passed{self._left_out}"
            if self.passed
            else f"did not pass: {self.why[0] if self.why else 'nobody knows why'}"
        )
        if self.stage != "ended":
            found = "has not ended"
        return f"the {self.kind} drill {self.id} of {self.group} {found} ({said})"

    def in_short(self, *, died: bool) -> dict[str, Any]:
        """Return it as readiness keeps it, and as pages show it until then.

        :param died: whether it has not ended, and nobody executes it any more
        """
        measured = [leg.rto_seconds for leg in self.legs]
        known = [seconds for seconds in measured if seconds is not None]
        objective = next((each.objective for each in self.objectives if each.name == "rto_seconds"), None)
        return {
            "id": self.id,
            "kind": self.kind,
            "passed": self.passed if self.stage == "ended" else None,
            "died": died,
            "ended_at": self.ended_at.isoformat(timespec="seconds"),
            # The slowest way counts, and one that was not measured leaves it unknown.
            "rto_seconds": max(known) if known and len(known) == len(measured) else None,
            "rto_objective": objective,
            "why": self.why[0] if self.why else "",
        }

    @property
    def _left_out(self) -> str:
        there_only = self.kind == "unplanned" and all(leg.verb != "failback" for leg in self.legs)
        return ", the way back was not practised" if there_only else ""


class DrillResults:
    """The results of a group's drills.

    :param root: the evidence root
    """

    def __init__(self, root: StoragePath, group: str) -> None:
        self._folder = root.joinpath(DRILLS_FOLDER, group)

    def folder(self, drill: str) -> Any:
        """Return the folder of a drill: its result, and below it the evidence of its runs."""
        return self._folder.joinpath(drill)

    def ids(self) -> tuple[str, ...]:
        """Return the ids of all drills that left anything, the newest first.

        :raises OSError: the storage does not answer
        """
        return tuple(sorted(filter(str.isdigit, file_names(self._folder)), reverse=True))

    def read(self, drill: str) -> DrillResult | None:
        """Return the result of a drill; ``None`` if it has none (yet).

        :raises DocumentDamaged: the file holds something else
        :raises OSError: the storage does not answer
        """
        return self._file(drill).read()

    def newest(self, most: int) -> tuple[DrillResult, ...]:
        """Return the newest results, the newest first: the trend.

        :raises DocumentDamaged: a file holds something else
        :raises OSError: the storage does not answer
        """
        return tuple(found for drill in self.ids()[:most] if (found := self.read(drill)) is not None)

    def write(self, result: DrillResult) -> None:
        """Keep a result; the same drill's former one is replaced."""
        self._file(result.id).write(result)

    def _file(self, drill: str) -> JsonFile[DrillResult]:
        path = self._folder.joinpath(drill, _RESULT)
        return JsonFile.of(DrillResult, path, _SCHEMA_VERSION, indent=1)

"""What a run wrote about itself: its evidence, read as plain JSON, with none of the code that wrote it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

_NAME = re.compile(r"(\d+)-(.+)\.(\d+)\.json")
GOOD = frozenset({"done", "passed"})


@dataclass(frozen=True, slots=True)
class StepEvidence:
    """The newest attempt of one step."""

    number: int
    name: str
    attempt: int
    outcome: str
    seconds: float
    detail: str
    finished_at: datetime
    proofs: tuple[str, ...]
    facts: dict[str, Any] = field(repr=False)

    @property
    def good(self) -> bool:
        """Whether it did what it is for."""
        return self.outcome in GOOD

    @property
    def sentence(self) -> str:
        """What a person reads about it."""
        return self.detail if self.detail and not self.good else "; ".join(self.proofs) or self.detail


@dataclass(frozen=True, slots=True)
class MovedGroup:
    """A group's position in a partition, before and after."""

    group: str
    topic: str
    partition: int
    source_offset: int
    target_offset: int | None
    kind: str


@dataclass(frozen=True, slots=True)
class ObjectiveResult:
    """An objective of the group, and whether a run kept it: ``met``, ``missed`` or ``unknown``; in seconds."""

    name: str
    verdict: str
    measured: float | None
    objective: float
    missed_by: float | None

    @property
    def sentence(self) -> str:
        """What a person reads about it."""
        label = self.name.removesuffix("_seconds").replace("_", " ")
        if self.measured is None:
            return f"{label} is not known, the objective is {self.objective:g} s"
        more = f" by {self.missed_by:g} s" if self.missed_by is not None else ""
        return f"{label} {self.measured:g} s, {self.verdict} {self.objective:g} s{more}"


class RunEvidence:
    """The evidence of one run.

    :param root: root of the evidence
    """

    def __init__(self, root: Path, *, group: str, run: str) -> None:
        self.folder = root / "runs" / group / run
        self._running = root / "watches" / ".running"

    def steps(self) -> tuple[StepEvidence, ...]:
        """The steps so far, in their order; of each the newest attempt that is whole."""
        newest: dict[str, StepEvidence] = {}
        for path in sorted(self.folder.glob("*.json")) if self.folder.exists() else ():
            step = _read(path)
            if step is not None and (step.name not in newest or step.attempt > newest[step.name].attempt):
                newest[step.name] = step
        return tuple(sorted(newest.values(), key=lambda step: step.number))

    def step(self, name: str) -> StepEvidence | None:
        """One step; ``None`` if it has not written anything."""
        return next((step for step in self.steps() if step.name == name), None)

    def done(self, name: str) -> bool:
        """Whether a step went through."""
        step = self.step(name)
        return step is not None and step.good

    def last_sign(self) -> str:
        """When a process of the run last wrote that it is there; empty if none is known."""
        for path in self._running.glob("*.json"):
            try:
                found = json.loads(path.read_text())
                if found["run"] == self.folder.name:
                    return str(found["seen_at"])
            except (OSError, ValueError, KeyError, TypeError):
                continue  # replaced meanwhile, or another's
        return ""

    def objectives(self) -> tuple[ObjectiveResult, ...]:
        """What the run says of each objective of its group; nothing where it did not get so far."""
        step = self.step("report")
        rows: Sequence[dict[str, Any]] = step.facts.get("objectives", ()) if step else ()
        return tuple(
            ObjectiveResult(
                str(row["name"]), str(row["verdict"]), row["measured"], row["objective"], row.get("missed_by")
            )
            for row in rows
        )

    def groups(self) -> tuple[MovedGroup, ...]:
        """Where the run put each group."""
        step = self.step("cut_over_groups")
        rows: Sequence[dict[str, Any]] = step.facts.get("groups", ()) if step else ()
        return tuple(
            MovedGroup(
                group=str(row["group"]),
                topic=str(row["topic"]),
                partition=int(row["partition"]),
                source_offset=int(row["source_offset"]),
                target_offset=row["target_offset"],
                kind=str(row["class"]),
            )
            for row in rows
        )


def _read(path: Path) -> StepEvidence | None:
    name = _NAME.fullmatch(path.name)
    if name is None:
        return None
    try:
        found = json.loads(path.read_text())
        return StepEvidence(
            number=int(name[1]),
            name=name[2],
            attempt=int(name[3]),
            outcome=str(found["outcome"]),
            seconds=float(found["seconds"]),
            detail=str(found.get("detail", "")),
            finished_at=datetime.fromisoformat(found["finished_at"]),
            proofs=tuple(str(proof["detail"]) for proof in found.get("proofs", ())),
            facts=dict(found.get("facts", {})),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None  # half written: the next look sees it whole

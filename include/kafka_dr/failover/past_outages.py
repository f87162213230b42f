"""How long a switch will keep applications from writing, as this group's own past switches measured it.

Nothing else is known of it: what the steps cost depends on the partitions, the load and the applications. So a group
that was never moved has no prediction, and the approver reads that it has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from kafka_dr.errors import KafkaDrError
from kafka_dr.evidence import EvidenceStore
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run

#: How many of the newest switches count. Older ones say little about today, and each costs two reads.
NEWEST = 10


@dataclass(frozen=True, slots=True)
class PastOutage:
    """What one earlier switch of the group measured.

    :param seconds: the write outage; ``None`` where that run could not tell, or its evidence is not what was sealed
    :param written: whether something was being written, so that the applications' own way to the new side is in it
    """

    run: str
    seconds: float | None
    written: bool = True


@dataclass(frozen=True, slots=True)
class PredictedOutage:
    """What the next switch will probably cost, and what that rests on.

    :param outages: of the newest switches, newest first
    :param promised: the objective, in seconds
    """

    outages: tuple[PastOutage, ...]
    promised: float
    unreadable: str = ""

    @property
    def used(self) -> tuple[float, ...]:
        """The outages that count, in seconds: where any was measured under load, those alone."""
        known = [each for each in self.outages if each.seconds is not None]
        loaded = [each for each in known if each.written] or known
        return tuple(each.seconds for each in loaded if each.seconds is not None)

    @property
    def only_idle(self) -> bool:
        """Whether nothing was being written in any of them, so that each is a lower bound."""
        return bool(self.used) and not any(each.written for each in self.outages if each.seconds is not None)

    @property
    def sentence(self) -> str:
        """The answer and its grounds, for a person."""
        if self.unreadable:
            return f"unknown: the past switches cannot be read ({self.unreadable})"
        if not self.outages:
            return "unknown: this group has not been moved before, so nothing was measured"
        if not self.used:
            return f"unknown: {_counted(len(self.outages), 'past switch')} left no sealed figure of it"
        return f"{self._figure()}; {self._kept_the_promise()}{self._left_out()}"

    def to_json(self) -> dict[str, Any]:
        """Return what the evidence keeps and the approval shows."""
        used = self.used
        return {
            "sentence": self.sentence,
            "least_seconds": min(used, default=None),
            "median_seconds": round(median(used), 3) if used else None,
            "most_seconds": max(used, default=None),
            "lower_bound": self.only_idle,
            "runs": len(used),
            "rests_on": [{"run": each.run, "seconds": each.seconds, "written": each.written} for each in self.outages],
        }

    def _figure(self) -> str:
        used = self.used
        at_least = "at least " if self.only_idle else ""
        if len(used) == 1:
            return f"{at_least}{used[0]:.1f} s, by one past switch alone, which says nothing about the spread"
        spread = f"{min(used):.1f} to {max(used):.1f} s in the newest {len(used)} that count"
        return f"{at_least}{median(used):.1f} s, the median of past switches: {spread}"

    def _kept_the_promise(self) -> str:
        late = sum(seconds > self.promised for seconds in self.used)
        if not late:
            return f"none took longer than the promised {self.promised:g} s"
        return f"{late} of {len(self.used)} took longer than the promised {self.promised:g} s"

    def _left_out(self) -> str:
        known = [each for each in self.outages if each.seconds is not None]
        unknown, idle = len(self.outages) - len(known), sum(not each.written for each in known)
        said = ""
        if self.only_idle:
            said += ". Nothing was being written then: what applications need to find the new side comes on top"
        elif idle:
            said += f". {_counted(idle, 'switch')} left out, in which nothing was being written"
        return said + (f". {_counted(unknown, 'switch')} left no sealed figure" if unknown else "")


def predicted(run: Run) -> PredictedOutage:
    """Return what the group's newest switches say about the next one.

    That they cannot be read keeps nobody from switching: then the prediction is unknown.
    """
    promised = run.group.objectives.write_outage_seconds
    try:
        newest = newest_switches(run.history)[:NEWEST]
        kept = [_kept(run.clients.evidence, run.group.name, each) for each in newest]
    except (KafkaDrError, OSError) as error:
        return PredictedOutage((), promised, unreadable=str(error))
    return PredictedOutage(tuple(each for each in kept if each is not None), promised)


def newest_switches(history: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the runs that opened a target, newest first.

    The register's journal separates them from all the other runs that left evidence, at the cost of one read.

    :param history: everything journaled about the group, by run
    """
    opened = {run: datetime.fromisoformat(facts["opened"]["at"]) for run, facts in history.items() if "opened" in facts}
    return sorted(opened, key=lambda run: opened[run], reverse=True)


def outage_of(run: str, report: Mapping[str, Any] | None) -> PastOutage | None:
    """Read a sealed report; ``None`` for one of a verb that does not measure a write outage.

    :param report: what the report step kept; ``None`` where there is no such thing under a seal
    """
    facts = report.get("facts") if report else None
    if not isinstance(facts, dict):
        return PastOutage(run, None)
    if "write_outage_seconds" not in facts:
        return None
    seconds = facts["write_outage_seconds"]
    known = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    return PastOutage(run, float(seconds) if known else None, facts.get("write_pause_seen_seconds") is not None)


def _kept(store: EvidenceStore, group: str, run: str) -> PastOutage | None:
    try:
        return outage_of(run, store.sealed_step(group, run, StepName.REPORT))
    except KafkaDrError:
        # What was changed since, or was cut off, is no ground for a prediction.
        return PastOutage(run, None)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}es"

"""How long a failover will stop writes: predicted from the earlier failovers of the same group.

There is no other source for it: the time depends on the partitions, the load and the applications. So a group that was
never moved has no prediction, and the approver is shown that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from kafka_dr.causes import cause
from kafka_dr.counted import counted
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError
from kafka_dr.evidence.store import EvidenceStore
from kafka_dr.failover import rule_waits
from kafka_dr.failover.rule_waits import RuleWait
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run

#: How many of the newest failovers count. Older ones say little about today, and each costs two reads.
NEWEST = 10


@dataclass(frozen=True, slots=True)
class PastOutage:
    """What one earlier failover of the group measured.

    :param run: its run
    :param seconds: the write outage; ``None`` if that run could not measure it, or if its evidence was changed
    :param written: whether applications were writing, so that their time to reconnect is included
    """

    run: str
    seconds: float | None
    written: bool = True


@dataclass(frozen=True, slots=True)
class PredictedOutage:
    """What the next failover will probably cost, and the measurements for that.

    :param outages: of the newest failovers, newest first
    :param objective: of the group, in seconds
    :param unreadable: why there is none; empty if the outages could be read
    :param waits: what it waits for while others apply access rules
    """

    outages: tuple[PastOutage, ...]
    objective: float
    unreadable: str = ""
    waits: tuple[RuleWait, ...] = ()

    @property
    def used(self) -> tuple[float, ...]:
        """The outages that count, in seconds: if any was measured under load, only those."""
        known = [each for each in self.outages if each.seconds is not None]
        loaded = [each for each in known if each.written] or known
        return tuple(each.seconds for each in loaded if each.seconds is not None)

    @property
    def only_idle(self) -> bool:
        """Whether nobody was writing in any of them, so that each is a lower bound."""
        return bool(self.used) and not any(each.written for each in self.outages if each.seconds is not None)

    @property
    def sentence(self) -> str:
        """The prediction and its grounds, for a person."""
        waits = rule_waits.sentence(self.waits)
        return f"{self._from_earlier}. {waits}" if waits else self._from_earlier

    @property
    def _from_earlier(self) -> str:
        if self.unreadable:
            return f"unknown: the evidence of earlier failovers cannot be read ({self.unreadable})"
        if not self.outages:
            return "unknown: this group has never been moved, so nothing was measured"
        if not self.used:
            return f"unknown: {counted(len(self.outages), 'earlier failover')} left no sealed figure of it"
        return f"{self._figure()}; {self._objective_met()}{self._left_out()}"

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
            return f"{at_least}{used[0]:.1f} s, from only one earlier failover, so the spread is unknown"
        spread = f"{min(used):.1f} to {max(used):.1f} s in the newest {len(used)} that count"
        return f"{at_least}{median(used):.1f} s, the median of earlier failovers: {spread}"

    def _objective_met(self) -> str:
        late = sum(seconds > self.objective for seconds in self.used)
        if not late:
            return f"none took longer than the objective of {duration(self.objective)}"
        return f"{late} of {len(self.used)} took longer than the objective of {duration(self.objective)}"

    def _left_out(self) -> str:
        known = [each for each in self.outages if each.seconds is not None]
        unknown, idle = len(self.outages) - len(known), sum(not each.written for each in known)
        said = ""
        if self.only_idle:
            said += (
                ". Nobody was writing then: the time that applications need to find the new active cluster is added to "
                "it"
            )
        elif idle:
            said += f". {counted(idle, 'failover')} left out, in which nobody was writing"
        return said + (f". {counted(unknown, 'failover')} left no sealed figure" if unknown else "")


def predicted(run: Run) -> PredictedOutage:
    """Return what the group's newest failovers say about the next one.

    If they cannot be read, the prediction is unknown, and the failover is possible all the same.
    """
    objective = run.group.objectives.write_outage_seconds
    try:
        newest = newest_failovers(run.history)[:NEWEST]
        kept = [_kept(run.clients.evidence, run.group.name, each) for each in newest]
    except (KafkaDrError, OSError) as error:
        return PredictedOutage((), objective, unreadable=cause(error), waits=rule_waits.rule_waits(run))
    measured = tuple(each for each in kept if each is not None)
    return PredictedOutage(measured, objective, waits=rule_waits.rule_waits(run))


def newest_failovers(history: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the runs that opened a target, newest first.

    The journal in the register shows which runs these are, at the cost of one read.

    :param history: everything journaled about the group, by run
    """
    opened = {run: datetime.fromisoformat(facts["opened"]["at"]) for run, facts in history.items() if "opened" in facts}
    return sorted(opened, key=lambda run: opened[run], reverse=True)


def outage_of(run: str, report: Mapping[str, Any] | None) -> PastOutage | None:
    """Read a sealed report; ``None`` if its verb does not measure a write outage.

    :param run: the run that wrote it
    :param report: evidence of the report step; ``None`` if there is no sealed one
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
        # Evidence that was changed or is incomplete is no ground for a prediction.
        return PastOutage(run, None)

"""Counts what clients wait for, by the kind of request and the step that makes it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import StepName

#: Up to the first word that is a name or a number.
_KIND = re.compile(r"^(?:(?:[a-z']+|[A-Z]+s?)(?: |$|(?=:)))+")


@dataclass(slots=True)
class RequestCounter:
    """Counts what was waited for, by kind, since it was asked last."""

    counts: Counter[str] = field(default_factory=Counter)

    def __call__(self, doing: str) -> None:
        """Count one request."""
        self.counts[kind_of(doing)] += 1

    def taken(self) -> dict[str, int]:
        """Return the counts, and begin again."""
        counts, self.counts = self.counts, Counter()
        return dict(sorted(counts.items()))


def kind_of(doing: str) -> str:
    """Return what a request does, without the names that it is about."""
    found = _KIND.match(doing)
    return found.group().strip() if found else "other"


@dataclass(slots=True)
class StepCounts:
    """Watches a switch: which requests each step has made."""

    counter: RequestCounter
    by_step: dict[str, dict[str, int]] = field(default_factory=dict)

    def begins(self, step: StepName) -> None:
        """Forget what was asked between two steps."""
        self.counter.taken()

    def ended(self, record: StepRecord) -> None:
        """Keep what the step has asked."""
        self.by_step[record.step] = self.counter.taken()

    def says(self, sentence: str) -> None:
        """Nothing."""

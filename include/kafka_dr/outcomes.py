"""Answers to questions about clusters: one class for every check before a step and every proof after it, and probes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from kafka_dr.errors import KafkaDrError

Outcome = Literal["ok", "failed", "unknown"]
#: ``warning``: good enough to continue, and not clean: something was found that a person should know.
#: ``excused``: not known to be good, but the run continues: the policy of the group allows it, or the old cluster is
#: lost and nobody can find out any more. ``overridden``: the rule says no, and the run's request overrides the rule.
#: None of them is ever shown as ok.
CheckOutcome = Literal[Outcome, "warning", "excused", "overridden"]
#: With these a run may continue.
PASSING: tuple[str, ...] = ("ok", "warning", "excused", "overridden")


@dataclass(frozen=True, slots=True)
class Check:
    """One question and its answer. Unknown is an answer of its own, and never a good one.

    :param detail: one sentence: what was seen and, unless it is good, what was expected and what to do
    """

    name: str
    outcome: CheckOutcome
    detail: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def passes(self) -> bool:
        """Whether a run may continue."""
        return self.outcome in PASSING

    def named(self, name: str) -> Check:
        """Return the same answer to a question with another name."""
        return replace(self, name=name)

    @classmethod
    def that(cls, name: str, holds: bool, detail: str, **facts: Any) -> Check:
        """Return a check that is ok or failed."""
        return cls(name, "ok" if holds else "failed", detail, facts)


def asked(name: str, ask: Callable[[], Check]) -> Check:
    """Ask a question; one that cannot be answered is unknown, and does not keep others from being asked.

    :param name: of the check, where there is no answer
    """
    try:
        return ask()
    except KafkaDrError as error:
        return Check(name, "unknown", str(error))


def worst(checks: Iterable[Check]) -> Outcome:
    """Return the outcome of all checks together; one that lets a run continue counts as ok."""
    outcomes = {check.outcome for check in checks}
    if "failed" in outcomes:
        return "failed"
    return "unknown" if "unknown" in outcomes else "ok"


@dataclass(frozen=True, slots=True)
class Probe:
    """One question about a cluster that may be down.

    :param name: ``metadata``, ``brokers`` …; ``vantage NAME`` for what somebody elsewhere says
    :param outcome: ``failed`` only where it was seen that something is wrong
    :param seconds: how long it took
    """

    name: str
    outcome: Outcome
    detail: str
    seconds: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)

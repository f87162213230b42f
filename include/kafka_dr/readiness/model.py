"""Readiness of one verb: named checks, each with what was seen and since when, and the answer that follows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from kafka_dr.codec import StoredDocument, WholeSeconds, stored
from kafka_dr.outcomes import CheckOutcome

ReadyVerb = Literal["planned_failover", "unplanned_failover", "failback"]
#: ``ready_with``: a run could begin, and not everything is as it should be. ``not_needed``: there is nothing to do for
#: this verb, such as a failback of a group whose standby is a copy.
Answer = Literal["ready", "ready_with", "not_ready", "unknown", "not_needed"]

#: A check of its own, so that a verb that was not asked is never ready.
NOT_NEEDED = "not_needed"
#: What is stored of one check. The evidence of a dry run has everything.
_MOST_CHARACTERS = 500


class ReadinessUnreadable(ValueError):
    """A stored result holds something else than readiness."""


@dataclass(frozen=True, slots=True)
class ReadinessCheck(StoredDocument):
    """One named question.

    :param detail: what was seen and, unless it is good, what to do
    :param since: since when it has this outcome, UTC; ``None`` if that is not known
    :param standby: of several standbys the one that it is about; empty if it is about the group
    """

    name: str
    outcome: CheckOutcome
    detail: str
    since: WholeSeconds | None = None
    standby: str = field(default="", metadata=stored(omitted=True))

    @property
    def about(self) -> tuple[str, str]:
        """What it asks, and of which standby: no verb has two of the same."""
        return (self.name, self.standby)


@dataclass(frozen=True, slots=True)
class VerbReadiness(StoredDocument):
    """Whether a verb could be used now.

    :param checks: all that were asked, the worst first
    :param expected: what a run would lose and cost, in sentences; empty if that is not known
    """

    verb: ReadyVerb
    checks: tuple[ReadinessCheck, ...]
    expected: tuple[str, ...] = ()

    @property
    def answer(self) -> Answer:
        """The answer; a verb of which nothing was asked is unknown. Of several standbys one that is ready is enough."""
        standbys = {check.standby for check in self.checks} - {""}
        if len(standbys) > 1:
            answers = {self.of_standby(name).answer for name in standbys}
            if answers & {"ready", "ready_with"}:
                return "ready" if answers == {"ready"} else "ready_with"
        outcomes = {check.outcome for check in self.checks}
        if [check.name for check in self.checks] == [NOT_NEEDED]:
            return "not_needed"
        if "failed" in outcomes:
            return "not_ready"
        if "unknown" in outcomes or not outcomes:
            return "unknown"
        return "ready" if outcomes == {"ok"} else "ready_with"

    @property
    def open(self) -> tuple[ReadinessCheck, ...]:
        """What is not ok, the worst first."""
        return tuple(check for check in self.checks if check.outcome != "ok")

    @property
    def score(self) -> int | None:
        """How many of 100 checks are ok; ``None`` if the verb is not needed. What is not known counts as not ok."""
        if self.answer == "not_needed":
            return None
        return round(100 * (len(self.checks) - len(self.open)) / len(self.checks)) if self.checks else 0

    def of_standby(self, standby: str) -> VerbReadiness:
        """Return what of it is about one standby of several, or about the whole group."""
        return replace(self, checks=tuple(check for check in self.checks if check.standby in ("", standby)))

    def with_more(self, checks: Iterable[ReadinessCheck]) -> VerbReadiness:
        """Return the readiness with more checks; a verb that is not needed, or was not asked, stays so."""
        if self.answer == "not_needed" or not self.checks:
            return self
        return replace(self, checks=worst_first((*self.checks, *checks)))

    def shortened(self) -> VerbReadiness:
        """Return it with as much as is kept of it."""
        checks = tuple(replace(check, detail=_cut(check.detail)) for check in self.checks)
        return replace(self, checks=checks, expected=tuple(map(_cut, self.expected)))


def worst_first(checks: Iterable[ReadinessCheck]) -> tuple[ReadinessCheck, ...]:
    """Return the checks in the order in which a person wants to read them."""
    return tuple(sorted(checks, key=lambda check: _ORDER.index(check.outcome)))


_ORDER = ("failed", "unknown", "overridden", "excused", "warning", "ok")


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"

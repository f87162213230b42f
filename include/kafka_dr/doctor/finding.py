"""One thing that was asked of a set-up, and what corrects it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kafka_dr.causes import cause
from kafka_dr.clusters.model import Acl
from kafka_dr.errors import ConnectionMistake, KafkaDrError, Refused
from kafka_dr.outcomes import Check, Outcome


@dataclass(frozen=True, slots=True)
class SetUpFinding:
    """One thing that was asked.

    :param about: a cluster, a protection group, ``evidence``, ``airflow`` or ``spark``
    :param name: of the question: ``login``, ``right``, ``flow`` …
    :param detail: what was seen and, unless it is good, what to do
    :param missing: the ACLs that would correct it: ALLOWs, or DENYs of what somebody may do too much
    :param excess: ALLOWs whose removal would correct it
    :param commands: of a shell that correct it, or that show what a person has to decide
    """

    about: str
    name: str
    outcome: Outcome
    detail: str
    missing: frozenset[Acl] = frozenset()
    excess: frozenset[Acl] = frozenset()
    commands: tuple[str, ...] = ()


def of_check(about: str, check: Check, *commands: str, name: str = "") -> SetUpFinding:
    """Return what a check of readiness found. A warning is wrong here: nobody waits for this set-up yet. What a run may
    continue without is unknown here.

    :param commands: where the check is not good
    """
    good, wrong = check.outcome == "ok", check.outcome in ("failed", "warning")
    outcome: Outcome = "ok" if good else "failed" if wrong else "unknown"
    return SetUpFinding(about, name or check.name, outcome, check.detail, commands=() if good else commands)


def asked(about: str, name: str, ask: Callable[..., Iterable[SetUpFinding]], *arguments: Any) -> Iterator[SetUpFinding]:
    """Yield what a question finds. One that cannot be answered is a finding, too."""
    try:
        yield from ask(*arguments)
    except (KafkaDrError, OSError) as error:
        yield no_answer(about, name, error)


def no_answer(about: str, name: str, error: Exception, *commands: str) -> SetUpFinding:
    """Return what a question without an answer is: wrong if what we connect with is, else unknown."""
    wrong = isinstance(error, ConnectionMistake | Refused)
    return SetUpFinding(about, name, "failed" if wrong else "unknown", cause(error), commands=commands)

"""How the evidence of a step is called: ``<number>-<step>.<attempt>.json``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from kafka_dr.errors import Refused

_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:+@=~-]{0,249}")
_NAME = re.compile(r"(\d+)-(.+)\.(\d+)\.json")


class UnusableName(Refused):
    """The name of a group, run or step cannot be part of a path. Nothing was written."""


@dataclass(frozen=True, slots=True)
class StepFile:
    """One attempt of one step, by the name of its file.

    :param number: the position of the step in its verb, from 1; 90 and more for what is no step of a verb
    :param attempt: from 1
    """

    name: str
    number: int
    step: str
    attempt: int

    @classmethod
    def of(cls, name: str) -> StepFile | None:
        """Return what a file name says; ``None`` for a file that is not evidence of a step."""
        found = _NAME.fullmatch(name)
        if found is None:
            return None
        return cls(name, int(found[1]), found[2], int(found[3]))


def attempts_of(names: Iterable[str], step: str) -> list[StepFile]:
    """Return the attempts of a step among file names, the newest first."""
    attempts = [file for file in map(StepFile.of, names) if file is not None and file.step == step]
    return sorted(attempts, key=lambda file: file.attempt, reverse=True)


def newest_of(names: Iterable[str], step: str) -> StepFile | None:
    """Return the newest attempt of a step among file names; ``None`` if there is none."""
    return next(iter(attempts_of(names, step)), None)


def usable(name: str, what: str) -> str:
    """Return a name that can be part of a path.

    :param what: what the name is of, for the message
    :raises UnusableName: it cannot
    """
    if not _PART.fullmatch(name):
        raise UnusableName(
            f"The {what} {name!r} cannot name a file: expected letters, digits and _.:+@=~-, a letter or digit first."
        )
    return name

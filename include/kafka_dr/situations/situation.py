"""What a row of the table of situations says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kafka_dr.situations.group_facts import GroupFacts

SituationColour = Literal["good", "warn", "bad", "unknown"]
#: ``form``: the form of a DAG, filled in for the group. ``dag``: the page of a DAG. ``question``: where the run that
#: waits is answered. ``evidence``: the page of the run. ``result``: what a watch found.
Opens = Literal["form", "dag", "question", "evidence", "result"]


@dataclass(frozen=True, slots=True)
class Action:
    """The one step that helps.

    :param label: what the button says
    :param target: the DAG or the watch; empty for a question and for evidence
    :param command: the same without Airflow, after ``python -m kafka_dr``; empty if there is none
    """

    label: str
    opens: Opens
    target: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """A row of the table.

    :param name: stable, for programs
    :param word: the state for people, in capitals; a page never shows a colour alone
    :param headline: what is the matter, and since when
    :param sentence: what that means, and what to do
    :param action: ``None``: nothing has to be done
    :param wait: until when waiting is right, and for what; empty if it is not
    :param why_not: why other steps do not help; empty if nobody would try them
    """

    name: str
    colour: SituationColour
    word: str
    fits: Callable[[GroupFacts], object]
    headline: str
    sentence: str
    action: Action | None = None
    wait: str = ""
    why_not: str = ""

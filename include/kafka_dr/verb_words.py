"""What verbs and runs are called in sentences: journals and evidence keep their names, people read these."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime

_VOWELS = frozenset("aeiou")
_OTHERWISE = {"un_adopt": "release"}
#: A run that is named by its verb needs no *failover*.
_SHORT = {"planned_failover": "planned", "unplanned_failover": "unplanned"}
#: An id as Airflow makes it: how the run began, and mostly when.
_ID = re.compile(
    r"\b(manual|scheduled|backfill|asset_triggered)__(?:(\d{4}-\d\d-\d\d)T(\d\d:\d\d)[\d:.]*(?:\+00:00|Z)?_?)?([\w.+:~-]*\w)?"
)


def verb_words(verb: str) -> str:
    """Return a verb as a noun: ``planned failover``, ``take over``, ``release``."""
    return _OTHERWISE.get(verb, verb.replace("_", " "))


def with_article(words: str) -> str:
    """Return words with their article: ``a failback``, ``an unplanned failover``."""
    return f"{'an' if words[:1].lower() in _VOWELS else 'a'} {words}"


def run_name(verb: str, at: datetime | None, by: str = "", *, now: datetime | None = None) -> str:
    """Return a run for people: ``planned · alice · 22:08``.

    :param verb: also the name of its DAG
    :param at: when it began, or ended if that is all that is known; ``None`` if unknown
    :param by: who asked for it; empty if that is not known
    :param now: of the page, UTC: a time of its day is shown without the day
    """
    verb = verb.removeprefix("dr_")
    when = f"{at.astimezone(UTC):%H:%M}" if at else ""
    if at and (now is None or at.astimezone(UTC).date() != now.astimezone(UTC).date()):
        when = f"{at.astimezone(UTC):%Y-%m-%d} {when}"
    return " · ".join(filter(None, (_SHORT.get(verb, verb_words(verb)), by, when)))


def without_ids(said: str, is_read: Callable[[int], bool] = lambda _: True) -> str:
    """Return a text in which each id that Airflow has made is a name: ``manual · 2026-11-20 22:08``.

    :param is_read: whether people read the text at an index; ids elsewhere stay
    """
    return _ID.sub(lambda found: _named(found) if is_read(found.start()) else found.group(), said)


def _named(found: re.Match[str]) -> str:
    kind, day, clock, rest = found.groups()
    return f"{kind.replace('_', ' ')} · {f'{day} {clock}' if day else rest or ''}".rstrip(" ·")

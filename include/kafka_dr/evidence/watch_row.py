"""A watch of a group or of an observed flow as people read it: what it says, since when, and what it said before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from kafka_dr.durations import age_of
from kafka_dr.evidence.status_colour import StatusColour
from kafka_dr.evidence.status_links import StatusLinks
from kafka_dr.watch_results import Period, WatchOutcome, WatchStatus

#: What an outcome of a watch is called, and its colour.
OUTCOME_WORDS: dict[WatchOutcome, tuple[str, StatusColour]] = {
    "ok": ("OK", "good"),
    "warning": ("OK, BUT", "warn"),
    "failed": ("FAILED", "bad"),
    "unknown": ("UNKNOWN", "unknown"),
    "left_alone": ("NOT CHECKED", "unknown"),
}
#: How many earlier periods a row shows; the stored result has more.
_SHOWN_PERIODS = 5


@dataclass(frozen=True, slots=True)
class WatchRow:
    """A watch of a group, as one row.

    :param word: the outcome for people, never a colour alone
    :param age: how long ago the watch looked, or that it never did
    :param since: since when the outcome is so; empty if that is not known
    :param sentences: what to read first, then what the watch said
    :param href: the run that looked, or the DAG
    """

    question: str
    word: str
    colour: StatusColour
    age: str
    since: str
    sentences: tuple[str, ...]
    dag_id: str
    href: str
    history: tuple[str, ...]

    @property
    def first(self) -> str:
        """What is shown without a click; empty if nothing was said."""
        return self.sentences[0] if self.sentences else ""

    @property
    def more(self) -> tuple[str, ...]:
        """What else was said."""
        return self.sentences[1:]

    @property
    def is_open(self) -> bool:
        """Whether everything is shown without a click: what is good stays folded."""
        return self.colour != "good" and bool(self.more)


def watch_row(status: WatchStatus, now: datetime, links: StatusLinks) -> WatchRow:
    """Return the row of a watch.

    :param now: the time for which it was judged, UTC
    """
    word, colour = OUTCOME_WORDS[status.outcome]
    found = status.result
    sentences = (*((status.reason,) if status.reason else ()), *(found.sentences if found else ()))
    dag_id = status.watch.dag_id
    href = links.dag_run(dag_id, found.run) if found and found.run else links.dag(dag_id)
    if status.reason and found:
        was = f"was {OUTCOME_WORDS[found.outcome][0]}"
        return WatchRow(
            status.watch.question,
            word,
            colour,
            f"{was} {age_of(now - found.looked_at)}",
            "",
            sentences,
            dag_id,
            href,
            (),
        )
    age = age_of(now - found.looked_at) if found else "never"
    since = f"since {clock_of(found.begun)}" if found else ""
    history = tuple(map(period_in_words, found.history[:_SHOWN_PERIODS])) if found else ()
    return WatchRow(status.watch.question, word, colour, age, since, sentences, dag_id, href, history)


def period_in_words(period: Period) -> str:
    """Return what a watch found over a time."""
    said = f": {period.sentence}" if period.sentence and period.outcome != "ok" else ""
    return f"{OUTCOME_WORDS[period.outcome][0]} from {clock_of(period.since)} to {clock_of(period.until)}{said}"


def clock_of(time: datetime) -> str:
    """Return a time for people, to the minute, UTC."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"

"""One notification: what happened, what it means, what to do, and where to look."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC
from html import escape
from typing import Any

from kafka_dr.codec import Microseconds, StoredDocument
from kafka_dr.quoting import line
from kafka_dr.situations.judgement import Judgement
from kafka_dr.topology.notifiers import Occasion

#: So many sentences of a check are sent; the page has all of them.
_SHOWN = 3
#: What each occasion means, and what a person does first.
_MEANS: Mapping[Occasion, tuple[str, str]] = {
    "approval_waiting": (
        "A run waits for a person, and ends without a change if nobody answers.",
        "Read the question, and answer it.",
    ),
    "half_moved": (
        "No program continues a run that holds the group, and applications may be refused writes on both clusters.",
        "Do now what the first sentence says: finish or abandon the run, or make the silent cluster answer.",
    ),
    "readiness_lost": (
        "If the active cluster fails now, a failover may be refused, or miss its objectives.",
        "Open DR status, and look at the first check that is named.",
    ),
    "readiness_regained": ("A failover could begin again.", "Nothing."),
    "fence_missing": (
        "A cluster that has to refuse writes lacked a part of its fence: two clusters may have taken writes.",
        "Find out who removed it and who wrote there meanwhile. dr_health adds missing DENYs; see its runbook for the "
        "rest.",
    ),
    "cluster_back": (
        "A cluster that did not answer answers again, and dr_health has checked its fence.",
        "Read what was found there. If another cluster took over, make this one a copy again with dr_failback.",
    ),
    "canary_lost": (
        "The replication left out a record and copied later ones: the copy may lack records of applications, too.",
        "Start no planned failover. Look at dr_flows, and trigger dr_checksum_audit: it names what is missing.",
    ),
    "drill_overdue": (
        "Nobody knows any more that a failover of this group works, or how long it takes.",
        "Trigger dr_drill, and look why none passed.",
    ),
    "check_red": (
        "A scheduled check found something that needs a person, or could not find out.",
        "Open the runbook of the DAG: it has a line for each finding.",
    ),
    "check_good": ("The same check is good again.", "Nothing."),
    "run_began": ("A run holds the group, and applications may be refused writes.", "Watch the run in Airflow."),
    "point_of_no_return": ("From now on the run can only be finished.", "Watch the run in Airflow."),
    "run_ended": ("No run holds the group any more.", "Read the report of the run."),
    "run_refused": (
        "A run ended and nothing was moved. Nobody else tries it.",
        "Read why, and trigger another run if it is still wanted.",
    ),
    "rolled_back": ("The group is active where it was before.", "Read in the report why the run was rolled back."),
    "moved": ("Another cluster is active now.", "Read the report of the run."),
}


@dataclass(frozen=True, slots=True)
class Notification(StoredDocument):
    """What people are notified of, once.

    :param at: when it was seen, UTC
    :param happened: what happened, in one line
    :param details: what was seen, in sentences
    :param link: where to look; empty if there is no page
    """

    group: str
    occasion: Occasion
    at: Microseconds
    happened: str
    details: tuple[str, ...] = ()
    link: str = ""

    @property
    def id(self) -> str:
        """A name that the same change has whoever sees it, so that it is sent once."""
        parts = (self.group, self.occasion, self.at.astimezone(UTC).isoformat(timespec="seconds"), self.happened)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]

    @property
    def means(self) -> str:
        """What it means."""
        return _MEANS[self.occasion][0]

    @property
    def todo(self) -> str:
        """What a person does first."""
        return _MEANS[self.occasion][1]

    def for_templates(self, now: Judgement | None = None) -> dict[str, Any]:
        """Return what the templates of a notifier may use as ``notification``; texts of clusters are one line each.

        :param now: the situation in which the group is when this is sent; ``None`` if it is not known. It says what to
            do: what happened may be over
        """
        details = [line(each) for each in self.details]
        situation = f"{now.said}. {now.sentence}" if now else ""
        todo = (now.step or "Nothing.") if now else self.todo
        shown = (*details[:_SHOWN], *((f"{len(details) - _SHOWN} more: see the page.",) if details[_SHOWN:] else ()))
        said = (f"Now: {situation}",) if now else (f"It means: {self.means}",)
        title = f"{self.group}: {line(self.happened)}"
        seen = f"{self.at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        text = "\n".join((title, *shown, f"Seen at {seen}.", *said, f"To do: {todo}", self.link))
        return {
            "group": self.group,
            "occasion": self.occasion,
            "title": title,
            "details": details,
            "means": self.means,
            "now": situation,
            "todo": todo,
            "link": self.link,
            "at": seen,
            "text": text.rstrip("\n"),
            "html": _html(title, shown, seen, said[0], todo, self.link),
        }


def _html(title: str, details: Iterable[str], seen: str, said: str, todo: str, link: str) -> str:
    rows = "".join(f"<li>{escape(each)}</li>" for each in details)
    head, _, rest = said.partition(": ")
    shown = f'<p><a href="{escape(link)}">Look at it</a></p>' if link else ""
    return (
        f"<h2>{escape(title)}</h2><ul>{rows}</ul><p>Seen at {seen}.</p><p><b>{escape(head)}</b>: {escape(rest)}</p>"
        f"<p><b>To do</b>: {escape(todo)}</p>{shown}"
    )

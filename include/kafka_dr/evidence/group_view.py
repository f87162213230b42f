"""The page of one protection group: everything that is kept about it, each thing one click away.

The watches with what they found over time, the runs with what they measured, the reports of audits, and lists of
stranded records. All of it comes from names of folders and small files; nothing is asked of a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from kafka_dr.causes import cause
from kafka_dr.durations import age_of
from kafka_dr.evidence.headline_view import HeadlineView, headline_view
from kafka_dr.evidence.objectives import MeasuredObjective
from kafka_dr.evidence.open_run_view import OpenRunLine, may_answer
from kafka_dr.evidence.over_time import FigureLine
from kafka_dr.evidence.readiness_view import ready_word
from kafka_dr.evidence.standby_lines import StandbyLine, standby_lines
from kafka_dr.evidence.status_colour import StatusColour
from kafka_dr.evidence.status_links import StatusLinks
from kafka_dr.evidence.status_view import RunRow, run_row
from kafka_dr.evidence.timeline import BarChart, Timeline, bar_chart, in_words, shown_time, timeline
from kafka_dr.evidence.watch_row import OUTCOME_WORDS
from kafka_dr.readiness.judge import ASKED
from kafka_dr.situations.group_now import GroupNow
from kafka_dr.verb_words import verb_words
from kafka_dr.watch_results import RunEnding, WatchedGroup, WatchStatus

#: How many names of runs and reports a page shows of each kind.
_MOST = 200
_CHARTS = {
    "write_outage_seconds": "Write outage",
    "rto_seconds": "Recovery time (RTO)",
    "rpo_seconds": "Data at risk (RPO)",
}
_STOPPED: tuple[str, StatusColour] = ("STOPPED", "bad")
_DRILLS: dict[bool | None, tuple[str, StatusColour]] = {
    True: ("PASSED", "good"),
    False: ("DID NOT PASS", "bad"),
    None: ("NOT ENDED", "unknown"),
}


@dataclass(frozen=True, slots=True)
class KeptNames:
    """Which runs, reports and lists are kept of a group, by the names of their folders.

    :param runs: in any order
    :param reports: audit, direction and run
    :param stranded: the unplanned failovers of which a list is kept
    :param problems: a sentence for each folder that could not be read
    """

    runs: tuple[str, ...] = ()
    reports: tuple[tuple[str, str, str], ...] = ()
    stranded: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupLinks:
    """The addresses that the page of a group leads to.

    :param status: those of the status page
    :param report: an audit's report: group, audit, direction and run
    :param stranded: a list of stranded records: group and run
    """

    status: StatusLinks
    report: Callable[[str, str, str, str], str]
    stranded: Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class WatchLine:
    """A watch: what it says now, what it found over time, and where its newest result is."""

    question: str
    word: str
    colour: StatusColour
    age: str
    href: str
    timeline: Timeline | None


@dataclass(frozen=True, slots=True)
class KeptLine:
    """Something that is kept, with its address."""

    title: str
    href: str


@dataclass(frozen=True, slots=True)
class KeptDrill:
    """A drill of a group, as its result is kept.

    :param said: its result in one line
    :param passed: ``None``: it has not ended
    :param died: whether it has not ended, and no process executes it any more
    :param ended_at: UTC
    """

    said: str
    passed: bool | None
    ended_at: datetime
    objectives: tuple[MeasuredObjective, ...]
    died: bool = False


@dataclass(frozen=True, slots=True)
class DrillRow:
    """A drill: what it found, and when."""

    said: str
    word: str
    colour: StatusColour
    age: str


@dataclass(frozen=True, slots=True)
class GroupView:
    """Everything that the page of a group shows.

    :param at: when it was made, UTC
    :param now: what is known of it, as the status page says it; ``None`` for an observed flow
    :param first: what is the matter with it, and the one step that helps; ``None`` for an observed flow
    :param standbys: of several, a line for each
    :param half_moved_href: the run by which it is half moved; empty if it is not
    :param resume: the address of the DAG that ends a run that died
    :param open_runs: what waits for a person, and the runs that continue
    :param shown: the time that the timelines show, in words
    :param ended: the runs that ended last, the newest first
    :param other_runs: other runs with evidence
    :param drills: the newest first
    :param figures: over the last days
    :param left_out: a sentence for each kind of which not everything is shown
    :param problems: what could not be read, a sentence each
    """

    group: str
    at: datetime
    now: GroupNow | None
    first: HeadlineView | None
    standbys: tuple[StandbyLine, ...]
    half_moved_href: str
    resume: str
    open_runs: tuple[OpenRunLine, ...]
    shown: str
    watches: tuple[WatchLine, ...]
    charts: tuple[BarChart, ...]
    ended: tuple[RunRow, ...]
    other_runs: tuple[KeptLine, ...]
    reports: tuple[KeptLine, ...]
    stranded: tuple[KeptLine, ...]
    drills: tuple[DrillRow, ...]
    figures: tuple[FigureLine, ...] = field(default=())
    left_out: tuple[str, ...] = field(default=())
    problems: tuple[str, ...] = field(default=())


def build_group_view(
    status: WatchedGroup,
    endings: Sequence[RunEnding] | Exception,
    kept: KeptNames,
    now: datetime,
    links: GroupLinks,
    drills: Sequence[KeptDrill] = (),
    figures: Sequence[FigureLine] = (),
    *,
    known: GroupNow | None = None,
    open_runs: Sequence[OpenRunLine] = (),
) -> GroupView:
    """Return the page of a group.

    :param endings: how its last runs ended, the newest first, or the error if that cannot be read
    :param drills: its drills, the newest first
    :param figures: what was measured over time
    :param now: the time for which the group was judged, UTC
    :param known: what is known of it, as the status page says it; ``None`` for an observed flow
    :param open_runs: its runs that are open
    """
    group, problems = status.group, list(kept.problems)
    status = known.watched if known else status
    if isinstance(endings, Exception):
        problems.append(f"UNKNOWN: the list of the last runs cannot be read: {cause(endings)}")
        endings = ()
    listed = {each.run for each in endings}
    others = [
        KeptLine(run, links.status.evidence(group, run)) for run in sorted(kept.runs, reverse=True) if run not in listed
    ]
    reports = [
        KeptLine(f"{audit}, {direction}, run {run}", links.report(group, audit, direction, run))
        for audit, direction, run in sorted(kept.reports, key=lambda each: (each[0], each[2]), reverse=True)
    ]
    shown = shown_time((each.result for each in status.watches if each.result), now)
    ready = ready_word(known.ready) if known else None
    return GroupView(
        group,
        now,
        known,
        headline_view(known.judgement, links.status, may_answer=may_answer(known.judgement.run, open_runs))
        if known
        else None,
        standby_lines(known, now) if known else (),
        links.status.evidence(group, known.half_moved_by) if known and known.half_moved_by else "",
        links.status.dag("dr_resume"),
        tuple(open_runs),
        in_words(shown),
        tuple(_watch(each, group, now, links, shown, ready) for each in status.watches),
        (*_charts(_of_runs(endings), "runs"), *_charts(_of_drills(drills), "drills")),
        tuple(run_row(group, each, now, links.status) for each in endings),
        tuple(others[:_MOST]),
        tuple(reports[:_MOST]),
        tuple(KeptLine(run, links.stranded(group, run)) for run in sorted(kept.stranded, reverse=True)),
        tuple(_drill(each, now) for each in drills),
        tuple(figures),
        tuple(_left_out(others, "runs")) + tuple(_left_out(reports, "reports")),
        tuple(problems),
    )


def _left_out(lines: Sequence[KeptLine], what: str) -> Iterable[str]:
    if len(lines) > _MOST:
        yield f"{len(lines) - _MOST} more {what} are in the folder of the evidence"


def _watch(
    status: WatchStatus,
    group: str,
    now: datetime,
    links: GroupLinks,
    shown: timedelta,
    ready: tuple[str, StatusColour] | None,
) -> WatchLine:
    word, colour = ready if ready and status.watch.name == ASKED else OUTCOME_WORDS[status.outcome]
    found = status.result
    return WatchLine(
        status.watch.question,
        word,
        colour,
        age_of(now - found.looked_at) if found else "never",
        links.status.result(group, status.watch.name),
        timeline(found, now, shown=shown) if found else None,
    )


def _drill(drill: KeptDrill, now: datetime) -> DrillRow:
    word, colour = _STOPPED if drill.died else _DRILLS[drill.passed]
    return DrillRow(drill.said, word, colour, age_of(now - drill.ended_at))


def _of_runs(endings: Sequence[RunEnding]) -> Iterable[tuple[str, MeasuredObjective]]:
    """Yield what runs measured, the oldest first, each with the time and the run in words."""
    for ending in sorted(endings, key=lambda each: each.ended_at):
        said = f"{ending.ended_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC, {verb_words(ending.dag_id.removeprefix('dr_'))}"
        for name, objective in ending.objectives.items():
            yield said, MeasuredObjective(name, ending.measured.get(name), objective)


def _of_drills(drills: Sequence[KeptDrill]) -> Iterable[tuple[str, MeasuredObjective]]:
    for drill in reversed(drills):
        said = f"{drill.ended_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        yield from ((said, each) for each in drill.objectives)


def _charts(found: Iterable[tuple[str, MeasuredObjective]], of: str) -> Iterable[BarChart]:
    measured: dict[str, list[tuple[str, MeasuredObjective]]] = {name: [] for name in _CHARTS}
    for said, each in found:
        if each.name in measured:
            measured[each.name].append((said, each))
    for name, rows in measured.items():
        if rows and (chart := bar_chart(f"{_CHARTS[name]} of the last {of}", rows)):
            yield chart

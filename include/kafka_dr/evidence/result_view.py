"""The page of one result: what a watch found of a group when it last looked, everything that was kept of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kafka_dr.durations import age_of
from kafka_dr.evidence.audit_view import Table, tables_of
from kafka_dr.evidence.readiness_view import ReadinessFindings, readiness_findings, ready_word
from kafka_dr.evidence.status_colour import StatusColour
from kafka_dr.evidence.timeline import Timeline, in_words, shown_time, timeline
from kafka_dr.evidence.watch_row import OUTCOME_WORDS, clock_of, period_in_words
from kafka_dr.situations.group_now import GroupNow
from kafka_dr.watch_results import WatchStatus


@dataclass(frozen=True, slots=True)
class ResultView:
    """Everything that the page of a result shows.

    :param word: the outcome for people, never a colour alone
    :param reason: why the result is not believed; empty if it is
    :param looked: when the watch looked, in words
    :param shown: the time that the timeline shows, in words
    :param report: the address of the full report; empty if there is none
    :param ready: of the result of readiness: what is not ok, and what is; ``None`` for other results
    """

    title: str
    question: str
    word: str
    colour: StatusColour
    reason: str
    looked: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...]
    timeline: Timeline | None
    shown: str
    history: tuple[str, ...]
    run: str
    run_href: str
    report: str
    ready: ReadinessFindings | None = None


def build_result_view(
    group: str,
    status: WatchStatus,
    now: datetime,
    *,
    run_href: str,
    report: str,
    known: GroupNow | None = None,
) -> ResultView:
    """Return the page of a watch's newest result for a group.

    :param now: the time for which it was judged, UTC
    :param run_href: the run that looked, or the watch's DAG
    :param report: see :class:`ResultView`
    :param known: of the result of readiness: what every page says of the group now; ``None`` for other results
    """
    word, colour = OUTCOME_WORDS[status.outcome] if known is None else ready_word(known.ready)
    found = status.result
    facts = {key: value for key, value in found.facts.items() if not key.startswith("_")} if found else {}
    shown = shown_time([found] if found else [], now)
    looked = f"{clock_of(found.looked_at)}, {age_of(now - found.looked_at)}" if found else "never"
    return ResultView(
        f"{group}: {status.watch.dag_id}",
        status.watch.question,
        word,
        colour,
        status.reason,
        looked,
        found.sentences if found else (),
        tuple(tables_of("Measured", facts)),
        timeline(found, now, shown=shown) if found else None,
        in_words(shown),
        tuple(map(period_in_words, found.history)) if found else (),
        found.run if found else "",
        run_href,
        report,
        _findings(known) if known else None,
    )


def _findings(known: GroupNow) -> ReadinessFindings:
    return readiness_findings(known.ready, {"active": known.record.active, "standby": known.record.standby})

"""The page of one result: what a watch found of a group when it last looked, everything that was kept of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kafka_dr.durations import moment
from kafka_dr.evidence.readiness_view import ReadinessFindings, readiness_findings, readiness_tables, ready_word
from kafka_dr.evidence.result_tables import MATCHED, RESULTS
from kafka_dr.evidence.status_colour import StatusColour
from kafka_dr.evidence.tables import MadeTable, Table, made_tables
from kafka_dr.evidence.timeline import Timeline, in_words, shown_time, timeline
from kafka_dr.evidence.watch_row import OUTCOME_WORDS, period_in_words
from kafka_dr.readiness.judge import verbs_in
from kafka_dr.readiness.model import ReadinessUnreadable
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
    facts, tables = found.facts if found else {}, tuple[Table, ...]()
    if known is not None and found:
        tables = _checks(facts, known)
    elif found:
        measured = MadeTable("Measured", "", RESULTS.get(status.watch.name, ()))
        tables = tuple(made_tables((measured, MATCHED), facts))
    shown = shown_time([found] if found else [], now)
    looked = moment(found.looked_at, now) if found else "never"
    return ResultView(
        f"{group}: {status.watch.dag_id}",
        status.watch.question,
        word,
        colour,
        status.reason,
        looked,
        found.sentences if found else (),
        tables,
        timeline(found, now, shown=shown) if found else None,
        in_words(shown),
        tuple(map(period_in_words, found.history)) if found else (),
        found.run if found else "",
        run_href,
        report,
        _findings(known) if known else None,
    )


def _checks(facts: Mapping[str, Any], known: GroupNow) -> tuple[Table, ...]:
    try:
        return readiness_tables(verbs_in(facts), _register(known))
    except ReadinessUnreadable:
        return ()  # what is not ok says so


def _findings(known: GroupNow) -> ReadinessFindings:
    return readiness_findings(known.ready, _register(known))


def _register(known: GroupNow) -> dict[str, str]:
    return {"active": known.record.active, "standby": known.facts.one_standby}

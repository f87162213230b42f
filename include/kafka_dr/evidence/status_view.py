"""What the status page shows: one card for each protection group, from the kept results of the watches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from kafka_dr.causes import cause
from kafka_dr.counted import counted
from kafka_dr.durations import age_of
from kafka_dr.evidence.drill_line import drill_line
from kafka_dr.evidence.flow_picture import FlowPicture, flow_picture
from kafka_dr.evidence.headline_view import HeadlineView, headline_view, most_urgent
from kafka_dr.evidence.member_matrix import BlockOfMembers, MemberMatrix, member_matrices
from kafka_dr.evidence.open_run_view import OpenedRuns, OpenRunLine, may_answer, open_run_line, running_line
from kafka_dr.evidence.readiness_view import VerbLine, verb_lines
from kafka_dr.evidence.rpo_line import rpo_line
from kafka_dr.evidence.standby_lines import StandbyLine, standby_lines
from kafka_dr.evidence.status_colour import WORST_COLOUR_FIRST, CardLine, StatusColour
from kafka_dr.evidence.status_links import StatusLinks
from kafka_dr.evidence.trigger_view import FORMS
from kafka_dr.evidence.watch_row import WatchRow, watch_row
from kafka_dr.evidence.watched_apart import ApartCards, apart_cards
from kafka_dr.quoting import unescaped
from kafka_dr.readiness.judge import ASKED, GroupReadiness
from kafka_dr.situations.group_now import DRILL, GroupNow, group_now
from kafka_dr.verb_words import run_name
from kafka_dr.watch_results import OpenRun, RunEnding, RunningStep, WatchedGroup, is_over

#: The words in capitals that a note begins with.
_CAPITALS = re.compile(r"[A-Z]{2,}(?: [A-Z]{2,})*\b")
#: How many ended runs a card shows.
_SHOWN_RUNS = 5
#: How many groups are shown before a click.
_SHOWN_GROUPS = 3


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run that ended: how, when, what people call it, and where its evidence is."""

    said: str
    colour: StatusColour
    age: str
    run: str
    name: str
    href: str

    @property
    def word(self) -> str:
        """How it ended, in capitals: ``MOVED``, ``NOT ROLLED BACK``; the first word of a note that begins otherwise."""
        return found.group() if (found := _CAPITALS.match(self.said)) else self.said.partition(" ")[0]

    @property
    def rest(self) -> str:
        """What else was said of it."""
        return self.said.removeprefix(self.word).removeprefix(":").strip()


@dataclass(frozen=True, slots=True)
class GroupCard:
    """A protection group.

    :param href: everything that is kept of it
    :param now: what is known of it
    :param first: what is the matter with it, and the one step that helps
    :param state: what the register said when it was last read, in one sentence
    :param verbs: whether each verb could be used on the group now
    :param asked: how long ago the clusters were asked that, for people
    :param drill: the last drill of the group
    :param rpo: what a disaster would have lost, by the last audit
    :param picture: its datacenters and its flow
    :param standbys: of several, a line for each
    :param starts: the forms that are filled in for it: title and address
    :param run: the last run that wrote the register; empty if it is not known
    :param runs: the runs that ended last, the newest first
    :param runs_note: why they are not shown; empty if they are
    :param half_moved: why no program continues a run of it, and what to do first; empty if none has to
    :param half_moved_by: that run; its evidence is at half_moved_href
    """

    group: str
    href: str
    now: GroupNow
    first: HeadlineView
    state: str
    run: str
    run_href: str
    verbs: tuple[VerbLine, ...]
    asked: str
    rows: tuple[WatchRow, ...]
    drill: CardLine
    rpo: CardLine
    picture: FlowPicture
    standbys: tuple[StandbyLine, ...]
    starts: tuple[tuple[str, str], ...]
    runs: tuple[RunRow, ...] = ()
    runs_note: str = ""
    half_moved: str = ""
    half_moved_by: str = ""
    half_moved_href: str = ""

    @property
    def colour(self) -> StatusColour:
        """The colour of the state."""
        return self.now.colour

    @property
    def anchor(self) -> str:
        """The name of the card within the page; names of groups hold letters, digits, ``-`` and ``_`` only."""
        return f"group-{self.group}"


@dataclass(frozen=True, slots=True)
class StatusView:
    """Everything that the status page shows.

    :param at: when it was made, UTC
    :param first: what is the matter with the most urgent group, and the one step that helps
    :param cards: the most urgent first
    :param verbs: the DAGs that a person triggers: title, address, what for
    :param readiness: the address of the DAG that asks whether each verb could be used
    :param resume: the address of the DAG that ends a run that died
    :param open_runs: what waits for a person, the runs that continue, and dry runs
    :param problem: why not all of them are known; empty if they are
    :param members: the members of each declaration of active-active use
    :param apart: what is looked at and is no protection group
    """

    at: datetime
    first: HeadlineView
    cards: tuple[GroupCard, ...]
    verbs: tuple[tuple[str, str, str], ...]
    airflow: str
    readiness: str
    resume: str
    open_runs: tuple[OpenRunLine, ...] = ()
    problem: str = ""
    members: tuple[MemberMatrix, ...] = ()
    apart: tuple[ApartCards, ...] = ()

    @property
    def verdict(self) -> str:
        """What is the matter, in one line."""
        return self.first.title

    @property
    def colour(self) -> StatusColour:
        """The colour of the most urgent state."""
        return self.first.colour

    @property
    def shown(self) -> tuple[GroupCard, ...]:
        """The groups that are shown before a click."""
        return self.cards[:_SHOWN_GROUPS]

    @property
    def folded(self) -> tuple[GroupCard, ...]:
        """All other groups."""
        return self.cards[_SHOWN_GROUPS:]

    @property
    def folded_in_words(self) -> str:
        """How many other groups there are, and how many of them are not well."""
        unwell = sum(card.colour != "good" for card in self.folded)
        return f"{counted(len(self.folded), 'more group')}: {f'{unwell} not well' if unwell else 'all well'}"

    @property
    def refresh_seconds(self) -> int:
        """After how many seconds the page loads again: soon, while a run is open."""
        return 5 if self.open_runs else 30


_VERBS = (
    ("Adopt", "dr_adopt", "once for a group: writes its first register record"),
    ("Planned failover", "dr_planned_failover", "both clusters work; dry_run checks everything and changes nothing"),
    ("Unplanned failover", "dr_unplanned_failover", "the active cluster is down"),
    ("Failback", "dr_failback", "after an unplanned failover: make the old cluster a copy again"),
    ("Resume", "dr_resume", "finish or abandon a run that died"),
)


def build_status_view(
    groups: Iterable[WatchedGroup],
    now: datetime,
    links: StatusLinks,
    endings: Mapping[str, tuple[RunEnding, ...] | Exception],
    opened: OpenedRuns = OpenedRuns(),  # noqa: B008 - it cannot be changed
    reader: str = "",
    blocks: Mapping[str, BlockOfMembers] = MappingProxyType({}),
    apart: Mapping[str, Mapping[str, WatchedGroup]] = MappingProxyType({}),
) -> StatusView:
    """Return the page of these groups, the worst first.

    :param now: the time for which the groups were judged, UTC
    :param endings: by group, how its last runs ended, or the error if that cannot be read
    :param opened: the runs that are open
    :param reader: the name of who reads the page; empty where that is not known
    :param blocks: those of members that hold copies of each other, by name
    :param apart: what was found of what is no protection group, by kind and name
    """
    running = [each for each, _ in opened.running]
    asked = [each for each, _ in opened.runs]
    lines = tuple(open_runs(opened, now, links, endings, reader))
    cards = [_card(each, now, links, endings.get(each.group, ()), running, asked, lines) for each in groups]
    cards.sort(key=lambda card: (card.now.judgement.urgency, card.group))
    others = apart_cards(apart, now, links)
    verbs = tuple((title, links.dag(dag_id), what) for title, dag_id, what in _VERBS)
    return StatusView(
        now,
        _first(cards, others, links, lines),
        tuple(cards),
        verbs,
        links.airflow,
        links.dag("dr_readiness"),
        links.dag("dr_resume"),
        lines,
        opened.problem,
        member_matrices(blocks, cards),
        others,
    )


def open_runs(
    opened: OpenedRuns,
    now: datetime,
    links: StatusLinks,
    endings: Mapping[str, tuple[RunEnding, ...] | Exception],
    reader: str = "",
) -> Iterable[OpenRunLine]:
    """Yield the runs that are open, without those that are listed as ended since.

    :param reader: the name of who reads the page; empty where that is not known
    """
    running = {(each.group, each.run): each for each, _ in opened.running}
    for found, steps in opened.runs:
        if is_over(found.run, found.asked_at, endings.get(found.group, ())):
            continue
        asked, shown = links.question(found.dag_id, found.group, found.run), links.evidence(found.group, found.run)
        step = running.get((found.group, found.run))
        yield open_run_line(found, steps, now, run_href=asked, evidence_href=shown, running=step, reader=reader)
    known = {(found.group, found.run) for found, _ in opened.runs}
    for step, steps in opened.running:
        if (
            step.result
            or (step.group, step.run) in known
            or is_over(step.run, step.began_at, endings.get(step.group, ()))
        ):
            continue
        run_href = links.dag_run(step.dag_id, step.airflow_run or step.run) if step.dag_id else ""
        shown = links.drills(step.group) if step.verb == DRILL else links.evidence(step.group, step.run)
        yield running_line(step, steps, now, run_href=run_href, evidence_href=shown)


def _first(
    cards: Sequence[GroupCard],
    others: Sequence[ApartCards],
    links: StatusLinks,
    lines: Sequence[OpenRunLine],
) -> HeadlineView:
    judged = [card.now.judgement for card in cards]
    if judged and (found := most_urgent(judged, links, may_answer=may_answer(judged[0].run, lines))):
        return found
    if not others:
        said = "the topology declares no protection group"
        return HeadlineView("UNKNOWN", "unknown", "", said, "Declare one, and adopt it.", "", None)
    cards_of = (card for each in others for card in each.cards)
    worst = min(cards_of, key=lambda card: WORST_COLOUR_FIRST.index(card.colour))
    said = f"{', '.join(each.counted for each in others)}, and no protection group"
    return HeadlineView(worst.word, worst.colour, "", said, "", "", None)


def _card(
    status: WatchedGroup,
    now: datetime,
    links: StatusLinks,
    endings: tuple[RunEnding, ...] | Exception,
    running: Sequence[RunningStep],
    asked: Sequence[OpenRun],
    lines: Sequence[OpenRunLine],
) -> GroupCard:
    known = group_now(status, endings, running, now, asked)
    record, ready, status = known.record, known.ready, known.watched
    href = links.evidence(status.group, record.run) if record.run else ""
    verbs = verb_lines(ready, {"active": record.active, "standby": known.facts.one_standby})
    looked = f"asked {age_of(now - ready.asked_at)}" if ready.asked_at else "never asked"
    page = links.group(status.group)
    rows = tuple(watch_row(each, now, links) for each in status.watches if each.watch.name != ASKED)
    drill = drill_line(status.of(ASKED), now, [each for each in running if each.group == status.group])
    card = GroupCard(
        status.group,
        page,
        known,
        headline_view(known.judgement, links, may_answer=may_answer(known.judgement.run, lines)),
        record.said,
        record.run,
        href,
        verbs,
        looked,
        rows,
        drill,
        rpo_line(status.of("checksum"), now),
        flow_picture(status, record),
        standby_lines(known, now),
        tuple((FORMS[dag_id].title, links.start(dag_id, status.group)) for dag_id in _offered(ready, drill)),
        half_moved=known.half_moved,
        half_moved_by=known.half_moved_by,
        half_moved_href=links.evidence(status.group, known.half_moved_by) if known.half_moved_by else "",
    )
    if isinstance(endings, Exception):
        return replace(card, runs_note=f"UNKNOWN: the list of the last runs cannot be read: {cause(endings)}")
    return replace(card, runs=tuple(run_row(status.group, each, now, links) for each in endings[:_SHOWN_RUNS]))


def _offered(ready: GroupReadiness, drill: CardLine) -> Iterable[str]:
    """Return the DAGs whose forms a card offers: no failback that is not needed, no drill that is not declared."""
    without = {"dr_failback"} if ready.of("failback").answer == "not_needed" else set()
    without |= {"dr_drill"} if drill.word == "NONE" else set()
    return (each for each in FORMS if each not in without)


def run_row(group: str, ending: RunEnding, now: datetime, links: StatusLinks) -> RunRow:
    """Return the row of a run that ended.

    :param now: the time from which its age is counted, UTC
    """
    said = unescaped(ending.note)
    colour: StatusColour = "good" if ending.good else "bad" if ending.is_not_back else "warn"
    name = run_name(ending.dag_id, ending.ended_at, ending.by, now=now)
    return RunRow(said, colour, age_of(now - ending.ended_at), ending.run, name, links.evidence(group, ending.run))

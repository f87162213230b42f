"""Everything that is kept of a protection group, and the newest result of each watch, as pages.

Nothing is asked of a cluster: names of folders and small files are read, each access with a deadline, and Airflow's
database says which open runs have ended.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.models.dagrun import DagRun
from airflow.utils.state import State
from fastapi import APIRouter, Depends, HTTPException, status
from fastapi.responses import HTMLResponse
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from kafka_dr.audit.report_folders import is_report_folder
from kafka_dr.causes import cause
from kafka_dr.counted import counted
from kafka_dr.drill.life import is_dead, said_of
from kafka_dr.drill.result import DrillResults
from kafka_dr.errors import KafkaDrError
from kafka_dr.evidence.group_view import GroupLinks, KeptDrill, KeptNames, build_group_view
from kafka_dr.evidence.open_run_view import OpenedRuns, OpenRunLine
from kafka_dr.evidence.over_time import SHOWN as SHOWN_FIGURES
from kafka_dr.evidence.over_time import FigureLine, figure_line, incidents
from kafka_dr.evidence.page import render_group, render_result, script_source, with_way_back
from kafka_dr.evidence.result_view import build_result_view
from kafka_dr.evidence.status_links import StatusLinks
from kafka_dr.evidence.status_view import open_runs
from kafka_dr.evidence.store import EvidenceStore
from kafka_dr.evidence.view_model import StepView
from kafka_dr.json_documents import DocumentDamaged
from kafka_dr.readiness.judge import ASKED
from kafka_dr.situations.group_now import GroupNow, group_now
from kafka_dr.watch_results import (
    ALL_WATCHES,
    MEASURED,
    FigurePoint,
    FiguresOverTime,
    OpenRun,
    OpenRuns,
    Period,
    RunEnding,
    RunEndings,
    RunningStep,
    RunningSteps,
    WatchedGroup,
    WatchName,
    WatchResultStore,
    read_endings,
    read_observed,
    read_status,
)
from kafka_dr_airflow.links import (
    airflow_path,
    audit_url,
    evidence_url,
    group_url,
    question_url,
    result_url,
    run_url,
    start_url,
    status_url,
    stranded_url,
    trigger_url,
)
from kafka_dr_airflow.running_runs import HasEnded, ended_in_airflow
from kafka_dr_airflow.topology_file import evidence_root, read_topology

#: A part of the path of something that is kept; it cannot name a folder above.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:+@=~-]*")
#: These pages lead to others and to Airflow. Only their own script runs, nothing is loaded, and no form is sent.
LINKED_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    f"script-src {script_source()}; form-action 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
#: What an audit keeps of each of its runs.
_REPORT = "report.json"
#: So many days of figures are drawn.
_FIGURE_DAYS = 7
#: How many drills are shown.
_DRILLS = 20

router = APIRouter()


def links() -> StatusLinks:
    """Return the addresses that pages lead to."""
    return StatusLinks(
        airflow_path(),
        dag=trigger_url,
        dag_run=run_url,
        evidence=evidence_url,
        group=group_url,
        result=result_url,
        question=question_url,
        start=start_url,
    )


def root() -> Any:
    """Return the evidence root.

    :raises HTTPException: the topology cannot be read
    """
    try:
        return evidence_root(read_topology(os.environ).evidence)
    except KafkaDrError as error:
        raise HTTPException(status.HTTP_503_SERVICE_UNAVAILABLE, str(error)) from error


def airflow_says(session: SessionDep) -> HasEnded:
    """Return what says whether a run has ended: Airflow's own database, in which a person may have ended it."""

    def has_ended(dag_id: str, run: str) -> bool:
        asked = select(DagRun.state).where(DagRun.dag_id == dag_id, DagRun.run_id == run)
        try:
            return session.scalar(asked) in State.finished_dr_states
        except SQLAlchemyError:
            return False  # what is kept is shown all the same

    return has_ended


#: What says whether a run has ended, as a parameter of a page.
AirflowSays = Annotated[HasEnded, Depends(airflow_says)]


@dataclass(frozen=True, slots=True)
class AirflowRun:
    """A run of a DAG of ours, as Airflow's database has it."""

    dag_id: str
    has_ended: bool
    note: str


#: Given a protection group and the id of a run, what Airflow knows of it; ``None`` if it knows of none.
FindRun = Callable[[str, str], AirflowRun | None]


def airflow_run(session: SessionDep) -> FindRun:
    """Return what finds a run in Airflow's own database, which has it before its first step has kept anything."""

    def find(group: str, run: str) -> AirflowRun | None:
        asked = select(DagRun).where(DagRun.dag_id.startswith("dr_", autoescape=True), DagRun.run_id == run)
        try:
            found = (each for each in session.scalars(asked) if (each.conf or {}).get("protection_group") == group)
            if (known := next(found, None)) is not None:
                return AirflowRun(known.dag_id, known.state in State.finished_dr_states, known.note or "")
        except SQLAlchemyError:
            pass  # what is kept is shown all the same
        return None

    return find


#: What finds a run in Airflow, as a parameter of a page.
AirflowRuns = Annotated[FindRun, Depends(airflow_run)]


def opened(
    kept: Any, groups: Iterable[str], now: datetime, has_ended: HasEnded
) -> tuple[OpenedRuns, dict[str, tuple[RunEnding, ...] | Exception]]:
    """Return the runs that wait for a person or continue, with what their evidence has recorded, and the last endings.

    A run that was ended in Airflow is one of the endings at once; health lists it within a minute.
    """
    found, endings = _opened(kept, now), read_endings(groups, RunEndings(kept))
    ended = ended_in_airflow((each for each, _ in found.runs), (each for each, _ in found.running), has_ended, now)
    for (group, _), ending in ended.items():
        if isinstance(known := endings.get(group), tuple):
            endings[group] = (ending, *known)
    return (
        replace(
            found,
            runs=tuple(each for each in found.runs if (each[0].group, each[0].run) not in ended),
            running=tuple(each for each in found.running if (each[0].group, each[0].run) not in ended),
        ),
        endings,
    )


def _opened(kept: Any, now: datetime) -> OpenedRuns:
    try:
        runs, damaged = OpenRuns(kept).read(now)
    except (KafkaDrError, OSError) as error:
        return OpenedRuns(problem=f"it is not known which runs wait for a person: {cause(error)}")
    many = counted(damaged, "file is", "files are")
    problem = f"in watches/.open {many} damaged: look in Airflow for runs that wait" if damaged else ""
    try:
        running, unreadable = RunningSteps(kept).read(now)
    except (KafkaDrError, OSError) as error:
        return OpenedRuns(problem=f"it is not known which runs a process executes: {cause(error)}")
    if unreadable:
        many = counted(unreadable, "file is", "files are")
        problem = f"in watches/.running {many} damaged: look in Airflow for runs that continue"
    return OpenedRuns(
        tuple((each, _steps(kept, each.group, each.run)) for each in runs),
        problem,
        tuple((each, _steps(kept, each.group, each.run)) for each in running),
    )


def _steps(kept: Any, group: str, run: str) -> Sequence[StepView] | Exception:
    try:
        return EvidenceStore(kept).run_view(group, run).steps
    except (KafkaDrError, OSError) as error:
        return error


def reader(user: GetUserDep) -> str:
    """Return the name of who reads a page."""
    return str(user.get_name())


@dataclass(frozen=True, slots=True)
class SeenGroup:
    """A protection group as each page shows it.

    :param lines: its runs that are open, for people
    :param running: what its runs execute
    :param asked: its runs that have asked a person
    :param endings: how its last runs ended, or why that is not known
    """

    now: GroupNow
    lines: tuple[OpenRunLine, ...]
    running: tuple[RunningStep, ...]
    asked: tuple[OpenRun, ...]
    endings: tuple[RunEnding, ...] | Exception


def seen_now(kept: Any, watched: WatchedGroup, now: datetime, has_ended: HasEnded, who: str = "") -> SeenGroup:
    """Return what is known of a group now, and its runs that are open: each page shows the same.

    :param who: the name of who reads the page; empty where that is not known
    """
    group = watched.group
    found, endings = opened(kept, [group], now, has_ended)
    running = tuple(each for each, _ in found.running if each.group == group)
    lines = tuple(each for each in open_runs(found, now, links(), endings, who) if each.group == group)
    asked = tuple(each for each, _ in found.runs if each.group == group)
    known = group_now(watched, endings[group], running, now, asked)
    return SeenGroup(known, lines, running, asked, endings[group])


def shown(page: str, group: str = "") -> HTMLResponse:
    """Return a page with a way back.

    :param group: the protection group that the page is about
    """
    back = [("DR status", status_url())]
    if group:
        back.append((f"Everything of {group}", group_url(group)))
    return HTMLResponse(with_way_back(page, back), headers=LINKED_HEADERS)


@router.get("/groups/{group}")
def group_page(group: str, who: Annotated[str, Depends(reader)], has_ended: AirflowSays) -> HTMLResponse:
    """Show everything that is kept of a group: watches, runs, reports, lists of stranded records."""
    kept, now = root(), datetime.now(UTC)
    watched = _watched(_named(group), WatchResultStore(kept), now)
    names = _names(kept, group)
    looked = any(each.result for each in watched.watches)
    _found(group, kept=any((looked, names.runs, names.reports, names.stranded, names.problems)))
    addresses = GroupLinks(links(), report=_report_address, stranded=stranded_url)
    drills = _drills(kept, group, now)
    if isinstance(drills, str):
        names, drills = replace(names, problems=(*names.problems, drills)), ()
    figures, problem = _figures(kept, group, now, incidents(watched))
    names = replace(names, problems=(*names.problems, *problem))
    is_protected = any(each.watch.name == ASKED for each in watched.watches)
    seen = seen_now(kept, watched, now, has_ended, who) if is_protected else None
    endings = seen.endings if seen else read_endings([group], RunEndings(kept))[group]
    known, lines = (seen.now, seen.lines) if seen else (None, ())
    view = build_group_view(watched, endings, names, now, addresses, drills, figures, known=known, open_runs=lines)
    return shown(render_group(view))


@router.get("/results/{group}/{watch}")
def result_page(group: str, watch: str, has_ended: AirflowSays) -> HTMLResponse:
    """Show what a watch found of a group when it last looked."""
    found = next((name for name in ALL_WATCHES if name == watch), None)
    if found is None:
        said = f"There is no watch {watch}. The watches are {', '.join(ALL_WATCHES)}."
        raise HTTPException(status.HTTP_404_NOT_FOUND, said)
    now = datetime.now(UTC)
    kept = root()
    watched = _watched(_named(group), WatchResultStore(kept), now)
    looked = next((each for each in watched.watches if each.watch.name == found), None)
    if looked is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, f"{found} does not look at {group}.")
    _found(group, kept=looked.result is not None)
    run = looked.result.run if looked.result else ""
    dag_id = looked.watch.dag_id
    report = str(looked.result.facts.get("report") or "") if looked.result else ""
    view = build_result_view(
        group,
        looked,
        now,
        run_href=run_url(dag_id, run) if run else trigger_url(dag_id),
        report=audit_url(report) if report else "",
        known=seen_now(kept, watched, now, has_ended).now if found == ASKED else None,
    )
    return shown(render_result(view), group)


def _watched(name: str, store: WatchResultStore, now: datetime) -> WatchedGroup:
    """Return what is known of a protection group, or of what has fewer watches: an observed flow, for instance."""
    watches: tuple[WatchName, ...] = ()
    try:
        kinds = read_topology(os.environ).watched_apart.values()
        watches = next((found[name] for found in kinds if name in found), ())
    except KafkaDrError:
        watches = ()
    if not watches:
        return read_status([name], store, now)[0]
    return read_observed({name: watches}, store, now)[name]


def _named(group: str) -> str:
    """Return the name of a group; one that could name another folder is refused."""
    if not NAME.fullmatch(group):
        raise HTTPException(status.HTTP_400_BAD_REQUEST, "There is no such protection group.")
    return group


def _found(group: str, *, kept: bool) -> None:
    """Stop where a name is nobody's: not declared, and nothing is kept of it.

    :raises HTTPException: there is no such group
    """
    try:
        topology = read_topology(os.environ)
    except KafkaDrError:
        return  # what is declared is not known
    declared = (*topology.protection_groups, *(name for found in topology.watched_apart.values() for name in found))
    if not kept and group not in declared:
        said = f"There is no protection group {group}, and nothing is kept of one. Those of the topology are: "
        raise HTTPException(status.HTTP_404_NOT_FOUND, said + ", ".join(sorted(declared)) + ".")


def _drills(kept: Any, group: str, now: datetime) -> tuple[KeptDrill, ...] | str:
    """Return the last drills of a group, or why they are not known."""
    try:
        found = DrillResults(kept, group).newest(_DRILLS)
    except (DocumentDamaged, KafkaDrError, OSError) as error:
        return f"UNKNOWN: the results of drills cannot be read: {cause(error)}"
    died = {each.id for each in found if is_dead(kept, each, now)}
    return tuple(
        KeptDrill(
            said_of(each, died=each.id in died),
            each.passed if each.stage == "ended" else None,
            each.ended_at,
            each.objectives,
            each.id in died,
        )
        for each in found
    )


def _figures(
    kept: Any, group: str, now: datetime, red: Sequence[Period]
) -> tuple[tuple[FigureLine, ...], tuple[str, ...]]:
    """Return what was measured over the last days, and a sentence for each day that cannot be read.

    :param red: when the group was red
    """
    days = [(now - timedelta(days=number)).date() for number in range(_FIGURE_DAYS, -1, -1)]
    objectives = _objectives(group)
    lines, problems = [], []
    for figure in SHOWN_FIGURES:
        points: list[FigurePoint] = []
        for day in days:
            try:
                points += FiguresOverTime(kept, MEASURED[figure][0]).of(group, figure, [day])
            except (DocumentDamaged, KafkaDrError, OSError) as error:
                problems.append(f"UNKNOWN: what was measured on {day} cannot be read: {cause(error)}")
        begin = max(now - timedelta(days=_FIGURE_DAYS), points[0].at) if points else now
        if line := figure_line(figure, points, begin, now, objectives=objectives, red=red):
            lines.append(line)
    return tuple(lines), tuple(dict.fromkeys(problems))


def _objectives(group: str) -> dict[str, float]:
    """Return the objectives of a group; none if the topology cannot be read, or does not declare it any more."""
    try:
        found = read_topology(os.environ).group(group).objectives
    except KafkaDrError:
        return {}
    return {"rpo_seconds": float(found.rpo_seconds)}


def _report_address(group: str, audit: str, direction: str, run: str) -> str:
    return audit_url("/".join(("audits", group, audit, direction, run, _REPORT)))


def _names(kept: Any, group: str) -> KeptNames:
    problems: list[str] = []

    def folders(*parts: str) -> tuple[str, ...]:
        try:
            return tuple(path.name for path in kept.joinpath(*parts).iterdir() if NAME.fullmatch(path.name))
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except (KafkaDrError, OSError) as error:
            problems.append(f"UNKNOWN: {'/'.join(parts)} below the evidence root cannot be read: {cause(error)}")
            return ()

    def reports() -> Iterator[tuple[str, str, str]]:
        for audit in folders("audits", group):
            for direction in folders("audits", group, audit):
                kept_there = folders("audits", group, audit, direction)
                yield from ((audit, direction, run) for run in kept_there if is_report_folder(run))

    return KeptNames(folders("runs", group), tuple(reports()), folders("stranded", group), tuple(problems))

"""The status page, and evidence of runs and audits as pages, for who may see the runs of the planned failover."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import Annotated, Any

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import get_auth_manager, requires_access_dag
from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response, status
from fastapi.exception_handlers import http_exception_handler
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.exceptions import HTTPException as AnyHttpException

from kafka_dr.causes import cause
from kafka_dr.errors import KafkaDrError, NeedsPerson, Refused
from kafka_dr.evidence.audit_view import build_audit_view, build_stranded_view
from kafka_dr.evidence.expired_run import EvidenceExpired
from kafka_dr.evidence.member_matrix import BlockOfMembers
from kafka_dr.evidence.observation_view import build_observation_view
from kafka_dr.evidence.page import render_audit, render_notice, render_observation, render_status
from kafka_dr.evidence.status_view import build_status_view
from kafka_dr.evidence.store import EvidenceStore
from kafka_dr.evidence.trigger_view import FORMS
from kafka_dr.quoting import unescaped
from kafka_dr.runs.request import VERBS
from kafka_dr.situations.group_now import DRILL
from kafka_dr.watch_results import (
    OBSERVATION,
    WatchResultStore,
    read_observed,
    read_status,
)
from kafka_dr_airflow.links import airflow_path, group_url, login_url, run_url
from kafka_dr_airflow.people.auth_managers import directory_of, find
from kafka_dr_airflow.topology_file import read_topology
from kafka_dr_airflow.views import kept_pages, metrics, question, trigger
from kafka_dr_airflow.views.kept_pages import (
    LINKED_HEADERS,
    NAME,
    AirflowRun,
    AirflowRuns,
    AirflowSays,
    SeenGroup,
    links,
    opened,
    reader,
    root,
    seen_now,
    shown,
)

# Airflow's login does not cover a plugin's pages by itself.
_MAY_SEE_RUNS = Depends(requires_access_dag("GET", DagAccessEntity.RUN, "dr_planned_failover"))
app = FastAPI(title="Evidence of disaster recovery", dependencies=[_MAY_SEE_RUNS], openapi_url=None)
app.include_router(metrics.router)
app.include_router(kept_pages.router)
app.include_router(trigger.router)
app.include_router(question.router)


#: How often the page of a run that continues loads again.
_RUN_SECONDS = 5
_ORDER: dict[str, tuple[str, ...]] = {
    verb: tuple(step.name.value for step in rules.steps) for verb, rules in VERBS.items()
}
#: The titles of the pages that show an error.
_TITLES = {
    status.HTTP_400_BAD_REQUEST: "There is no such page",
    status.HTTP_403_FORBIDDEN: "You may not see this",
    status.HTTP_404_NOT_FOUND: "Nothing was found",
    status.HTTP_409_CONFLICT: "The evidence was changed",
    status.HTTP_410_GONE: "The evidence has expired",
    status.HTTP_503_SERVICE_UNAVAILABLE: "The evidence cannot be read",
}


@app.exception_handler(AnyHttpException)
async def say_instead(request: Request, error: AnyHttpException) -> Response:
    """Answer a browser with a page, or with the login if nobody is logged in. Programs get the error as JSON."""
    if "text/html" not in request.headers.get("accept", ""):
        return await http_exception_handler(request, error)
    if error.status_code == status.HTTP_401_UNAUTHORIZED:
        return RedirectResponse(login_url(request.url.path), status.HTTP_303_SEE_OTHER)
    title = _TITLES.get(error.status_code, "The page cannot be shown")
    shown = render_notice(title, str(error.detail), back=airflow_path())
    return HTMLResponse(shown, error.status_code, headers=LINKED_HEADERS)


@app.get("/status")
def status_page(who: Annotated[str, Depends(reader)], has_ended: AirflowSays, *, reload: bool = True) -> HTMLResponse:
    """Show what the watches found of every protection group. No cluster is asked.

    :param who: the name of who reads the page
    :param reload: whether the page loads again by itself
    """
    try:
        topology = read_topology(os.environ)
    except KafkaDrError as error:
        raise HTTPException(status.HTTP_503_SERVICE_UNAVAILABLE, str(error)) from error
    kept, groups, now = root(), sorted(topology.protection_groups), datetime.now(UTC)
    store = WatchResultStore(kept)
    found = read_status(groups, store, now)
    apart = {kind: read_observed(watches, store, now) for kind, watches in topology.watched_apart.items()}
    open_now, endings = opened(kept, groups, now, has_ended)
    blocks = {name: BlockOfMembers(each.groups, each.holding) for name, each in topology.blocks.items()}
    view = build_status_view(found, now, links(), endings, open_now, who, blocks, apart)
    return HTMLResponse(render_status(view, reloads=reload), headers=LINKED_HEADERS)


@app.get("/evidence/{group}/{run}", response_class=HTMLResponse)
def run_page(
    group: str,
    run: str,
    who: Annotated[str, Depends(reader)],
    has_ended: AirflowSays,
    find_run: AirflowRuns,
    *,
    reload: bool = True,
) -> Response:
    """Show the evidence of a run. That of a drill that runs is with all drills of the group.

    :param reload: whether the page loads again by itself while the run continues
    """
    kept, now = root(), datetime.now(UTC)
    seen = None
    if NAME.fullmatch(group):
        (watched,) = read_status([group], WatchResultStore(kept), now)
        seen = seen_now(kept, watched, now, has_ended, who)
    open_now = _open_now(seen, run, now)
    if (running := open_now["running"]) is not None and running.verb == DRILL:
        return RedirectResponse(links().drills(group), status.HTTP_303_SEE_OTHER)
    try:
        found = EvidenceStore(kept).page(
            group,
            run,
            order=_ORDER,
            reload_seconds=_RUN_SECONDS if reload else 0,
            form=lambda verb: _form(verb, group),
            **open_now,
        )
    except EvidenceExpired as error:
        raise HTTPException(status.HTTP_410_GONE, str(error)) from error
    except Refused as error:
        raise HTTPException(status.HTTP_400_BAD_REQUEST, str(error)) from error
    except NeedsPerson as error:
        raise HTTPException(status.HTTP_409_CONFLICT, str(error)) from error
    except KafkaDrError as error:
        raise HTTPException(status.HTTP_503_SERVICE_UNAVAILABLE, str(error)) from error
    if found is not None:
        return shown(found, group)
    return _without_evidence(group, run, find_run(group, run), str(open_now.get("ended") or ""), reload=reload)


def _form(verb: str, group: str) -> str:
    """Return where a run of a verb is started; the page of the group where it has no form of its own."""
    dag_id = f"dr_{verb}"
    return links().start(dag_id, group) if dag_id in FORMS else links().group(group)


def _without_evidence(group: str, run: str, known: AirflowRun | None, ended: str, *, reload: bool) -> HTMLResponse:
    """Return the page of a run of which nothing is kept yet, or of one that ended before.

    :param known: what Airflow has of it; ``None`` if nothing
    :param ended: how it ended, as the list of ended runs has it; empty if it is not in there
    """
    ended = ended or (known.note if known is not None and known.has_ended else "")
    seconds = 0
    if ended:
        said = f"It ended before a step kept evidence: {unescaped(ended)}"
    elif known is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, f"Run {run} of {group} has no evidence yet.")
    elif known.has_ended:
        said = "It ended before a step kept evidence: its logs in Airflow say why."
    else:
        said = "Airflow has started it. This page shows each step, and the question when it asks one."
        seconds = _RUN_SECONDS if reload else 0
    back = run_url(known.dag_id, run) if known is not None else group_url(group)
    return shown(render_notice(f"Run {run} of {group}", said, back=back, reload_seconds=seconds), group)


def _open_now(seen: SeenGroup | None, run: str, now: datetime) -> dict[str, Any]:
    """Return what the page of a run that is open shows, as the status page says it.

    :param seen: its group; ``None``: there can be none of this name
    """
    if seen is None:
        return {"running": None}
    listed = () if isinstance(seen.endings, Exception) else seen.endings
    return {
        "running": next((each for each in seen.running if run in (each.run, each.airflow_run)), None),
        "now": now,
        "half_moved": seen.now.half_moved if seen.now.half_moved_by == run else "",
        "asked": next((each for each in seen.lines if each.run == run), None),
        "ended": next((each.note for each in listed if each.run == run), ""),
    }


@app.get("/audits/{group}/{audit}/{direction}/{run}")
def audit_page(group: str, audit: str, direction: str, run: str) -> HTMLResponse:
    """Show the report of an audit of a flow."""
    wanted = f"{audit} report of {group}, {direction}, run {run}"
    report = _read("audits", group, audit, direction, run, "report.json", wanted=wanted)
    if audit == OBSERVATION.name:
        return shown(render_observation(build_observation_view(report)), group)
    return shown(render_audit(build_audit_view(audit, f"{group}, {direction}", report)), group)


@app.get("/stranded/{group}/{run}")
def stranded_page(group: str, run: str) -> HTMLResponse:
    """Show the stranded records of an unplanned failover."""
    found = _read("stranded", group, run, "summary.json", wanted=f"list of stranded records of {group} for run {run}")
    return shown(render_audit(build_stranded_view(found)), group)


@app.get("/people")
def people(name: Annotated[list[str], Query()] = [], role: Annotated[list[str], Query()] = []) -> dict[str, Any]:  # noqa: B006
    """Return the people with one of the names or roles, as the auth manager of this Airflow knows them."""
    try:
        found = find(directory_of(get_auth_manager()), names=name, roles=role)
    except KafkaDrError as error:
        raise HTTPException(status.HTTP_503_SERVICE_UNAVAILABLE, str(error)) from error
    return {"people": [{"name": person.name, "id": person.id} for person in found]}


def _read(*parts: str, wanted: str) -> Any:
    """Return a JSON file below the evidence root.

    :param wanted: what the file is, for the message
    :raises HTTPException: it cannot be shown
    """
    if not all(map(NAME.fullmatch, parts)):
        sentence = "There is no such report. Open it with the button on the page of its task."
        raise HTTPException(status.HTTP_400_BAD_REQUEST, sentence)
    try:
        return json.loads(root().joinpath(*parts).read_bytes())
    except FileNotFoundError as error:
        sentence = f"There is no {wanted}. Reports of audits are removed when they are old."
        raise HTTPException(status.HTTP_404_NOT_FOUND, sentence) from error
    except (KafkaDrError, OSError, ValueError) as error:
        raise HTTPException(status.HTTP_503_SERVICE_UNAVAILABLE, cause(error)) from error

"""Evidence of runs and reports of audits as pages. Who may see the runs of the planned failover may see them."""

from __future__ import annotations

import json
import os
import re
from typing import Annotated, Any

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import get_auth_manager, requires_access_dag
from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response, status
from fastapi.exception_handlers import http_exception_handler
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.exceptions import HTTPException as AnyHttpException

from kafka_dr.errors import KafkaDrError, NeedsPerson, Refused
from kafka_dr.evidence import EvidenceStore, build_audit_view, build_stranded_view, render_audit, render_notice
from kafka_dr_airflow.links import airflow_path, login_url
from kafka_dr_airflow.people.auth_managers import directory_of, find
from kafka_dr_airflow.topology_file import evidence_root, read_topology

# Airflow's login does not cover a plugin's pages by itself.
_MAY_SEE_RUNS = Depends(requires_access_dag("GET", DagAccessEntity.RUN, "dr_planned_failover"))
# The page needs only its own styles. What it shows comes from clusters, so no script runs and nothing is loaded.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
# The link of a notice opens Airflow, which does not work in the sandbox.
_LINKED = {**_HEADERS, "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}

#: A part of the path of a report; it cannot name a folder above.
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:+@=~-]*")

app = FastAPI(title="Evidence of disaster recovery", dependencies=[_MAY_SEE_RUNS], openapi_url=None)


#: The titles of the pages that show an error.
_TITLES = {
    status.HTTP_400_BAD_REQUEST: "There is no such page",
    status.HTTP_403_FORBIDDEN: "You may not see this",
    status.HTTP_404_NOT_FOUND: "Nothing was found",
    status.HTTP_409_CONFLICT: "The evidence was changed",
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
    return HTMLResponse(shown, error.status_code, headers=_LINKED)


@app.get("/evidence/{group}/{run}")
def page(group: str, run: str) -> HTMLResponse:
    """Show the evidence of a run."""
    try:
        found = EvidenceStore(evidence_root(read_topology(os.environ).evidence)).page(group, run)
    except Refused as error:
        raise HTTPException(status.HTTP_400_BAD_REQUEST, str(error)) from error
    except NeedsPerson as error:
        raise HTTPException(status.HTTP_409_CONFLICT, str(error)) from error
    except KafkaDrError as error:
        raise HTTPException(status.HTTP_503_SERVICE_UNAVAILABLE, str(error)) from error
    if found is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, f"Run {run} of {group} has no evidence yet.")
    return HTMLResponse(found, headers=_HEADERS)


@app.get("/audits/{group}/{audit}/{direction}/{run}")
def audit_page(group: str, audit: str, direction: str, run: str) -> HTMLResponse:
    """Show the report of an audit of a flow."""
    wanted = f"{audit} report of {group}, {direction}, run {run}"
    report = _read("audits", group, audit, direction, run, "report.json", wanted=wanted)
    return HTMLResponse(render_audit(build_audit_view(audit, f"{group}, {direction}", report)), headers=_HEADERS)


@app.get("/stranded/{group}/{run}")
def stranded_page(group: str, run: str) -> HTMLResponse:
    """Show the stranded records of an unplanned failover."""
    found = _read("stranded", group, run, "summary.json", wanted=f"list of stranded records of {group} for run {run}")
    return HTMLResponse(render_audit(build_stranded_view(found)), headers=_HEADERS)


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
    if not all(map(_PART.fullmatch, parts)):
        sentence = "There is no such report. Open it with the button on the page of its task."
        raise HTTPException(status.HTTP_400_BAD_REQUEST, sentence)
    try:
        root = evidence_root(read_topology(os.environ).evidence)
        return json.loads(root.joinpath(*parts).read_bytes())
    except FileNotFoundError as error:
        sentence = f"There is no {wanted}. Reports of audits are removed when they are old."
        raise HTTPException(status.HTTP_404_NOT_FOUND, sentence) from error
    except (KafkaDrError, OSError, ValueError) as error:
        raise HTTPException(status.HTTP_503_SERVICE_UNAVAILABLE, str(error)) from error

"""The page on which a person answers. The answer goes to Airflow's own API with the reader's session.

So Airflow checks and records the person, and nothing of this project takes an answer: another site that makes a
browser send something here finds no address that changes anything.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep, get_auth_manager, requires_access_dag
from airflow.models.dag import DagModel
from airflow.models.hitl import HITLDetail
from airflow.models.taskinstance import TaskInstance
from airflow.utils.state import State
from fastapi import APIRouter, Depends, HTTPException, status
from fastapi.responses import HTMLResponse
from sqlalchemy import select

from kafka_dr.approvals.approval_sheet import named_in
from kafka_dr.approvals.kept_question import kept_question
from kafka_dr.causes import cause
from kafka_dr.durations import moment
from kafka_dr.errors import KafkaDrError
from kafka_dr.evidence.page import render_notice, render_question
from kafka_dr.evidence.question_view import AnswerForm, build_question_view
from kafka_dr.evidence.store import EvidenceStore
from kafka_dr.runs.request import StepName
from kafka_dr_airflow.links import airflow_path, dialog_url, evidence_url
from kafka_dr_airflow.views.kept_pages import NAME, root, shown
from kafka_dr_airflow.views.trigger import form_headers

#: The app that includes it asks who may see runs; which questions, Airflow says for each DAG.
router = APIRouter()
_MAY_READ = Depends(requires_access_dag("GET", DagAccessEntity.HITL_DETAIL))


@router.get("/question/{dag_id}/{group}/{run}", dependencies=[_MAY_READ])
def question_page(dag_id: str, group: str, run: str, user: GetUserDep, session: SessionDep) -> HTMLResponse:
    """Show what a run asks about a group, and take the answer of who may give it."""
    if not NAME.fullmatch(group):
        raise HTTPException(status.HTTP_400_BAD_REQUEST, "There is no such protection group.")
    asked = select(HITLDetail).join(HITLDetail.task_instance)
    rows = session.scalars(asked.where(TaskInstance.dag_id == dag_id, TaskInstance.run_id == run)).unique().all()
    now, dialog = datetime.now(UTC), dialog_url(dag_id, run)
    if not rows:
        # The status page learns from health that a run was ended, or deleted, in Airflow.
        asks_nobody = "Airflow has no question of this run: it was ended or deleted, or it has not asked yet."
        return shown(render_notice(f"A question about {group}", asks_nobody, back=dialog), group)
    try:
        found = {row: kept for row in rows if (kept := _kept(group, run, row)) is not None}
    except (KafkaDrError, OSError) as error:
        raise HTTPException(status.HTTP_503_SERVICE_UNAVAILABLE, f"{cause(error)}. Answer in {dialog}.") from error
    if not found:
        said = "What is kept of this question is not what Airflow asks, so it is not shown. Read it in Airflow."
        return shown(render_notice(f"A question about {group}", said, back=dialog), group)
    row = max(found, key=lambda each: (not _over(each, now), each.created_at))
    view = build_question_view(group, found[row], _answering(dag_id, group, run, row, user, now), now)
    nonce = secrets.token_urlsafe(16)
    page = shown(render_question(view, nonce), group)
    return HTMLResponse(bytes(page.body), headers=form_headers(nonce))


def _kept(group: str, run: str, row: HITLDetail) -> Mapping[str, Any] | None:
    """Return the evidence of what a row of Airflow asks; ``None`` if there is none, or if it shows something else."""
    store, name = EvidenceStore(root()), named_in(row.body or "")
    steps = (StepName.APPROVAL, StepName.SECOND_APPROVAL)
    return next(filter(None, (kept_question(store.attempts(group, run, step.value), name) for step in steps)), None)


def _answering(dag_id: str, group: str, run: str, row: HITLDetail, user: Any, now: datetime) -> AnswerForm:
    manager, task = get_auth_manager(), row.task_instance
    details = DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id))
    may = manager.is_authorized_dag(
        method="PUT", access_entity=DagAccessEntity.HITL_DETAIL, details=details, user=user
    ) and manager.is_authorized_hitl_task(assigned_users={person["id"] for person in row.assigned_users}, user=user)
    path = f"{airflow_path()}api/v2/dags/{dag_id}/dagRuns/{quote(run, safe='')}/taskInstances/{task.task_id}"
    mapped = "" if task.map_index < 0 else f"/{task.map_index}"
    return AnswerForm(
        f"{path}/{task.map_index}/hitlDetails",
        f"{path}{mapped}",
        str(task.id),
        evidence_url(group, run),
        dialog_url(dag_id, run),
        str(user.get_name()),
        may,
        _over(row, now),
    )


def _over(row: HITLDetail, now: datetime) -> str:
    """Return what became of a question; empty while it is open."""
    if row.responded_at is not None:
        who, said = (row.responded_by or {}).get("name", "Nobody named"), " and ".join(row.chosen_options or [])
        word = {"Approve": "approved", "Reject": "rejected"}.get(said, "answered")
        return f"{who} has {word} this · {moment(row.responded_at, now)}"
    if row.task_instance.state in State.finished:
        return "The run does not wait for this answer any more."
    return ""

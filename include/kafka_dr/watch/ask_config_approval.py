"""Asks a person to approve a config sync plan: once for each plan, however often the same plan is made."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from kafka_dr.approvals.approval import ApprovalQuestion, keep_answer
from kafka_dr.approvals.approval_sheet import Sheet, subject
from kafka_dr.approvals.journaled import Answer, ApprovalJournal
from kafka_dr.approvals.who_may_answer import found_for
from kafka_dr.config_sync.items import ItemVerdict
from kafka_dr.config_sync.lock import FACTS
from kafka_dr.counted import counted
from kafka_dr.errors import Refused
from kafka_dr.quoting import code, markdown
from kafka_dr.register import RegisterState
from kafka_dr.runs.at_rest import WatchResult, at_rest
from kafka_dr.runs.attempt import Attempt
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import StepName
from kafka_dr.watch.config_plan import (
    APPROVAL,
    NUMBERS,
    ConfigSyncRun,
    approval_journal,
    keep_plan,
    newest_plan,
    plan_of,
    start_plan,
)

#: The newest question, among the facts of the active cluster's register.
_QUESTION = "question"
#: More changes than this are only in the evidence.
_MOST_ROWS = 100


def ask_config(
    group: str, clients: Clients, run_id: str, *, page: str = "", asked_by: str = ""
) -> ApprovalQuestion | str:
    """Return the question about the changes of this run's newest plan that need an approval.

    While one run asks about a plan, no other run asks about the same plan. A rejected plan is not asked about again.

    :param page: the address that shows the evidence of the run
    :param asked_by: the id of the task instance that asks; empty without Airflow
    :returns: the question, or why nobody is asked
    """
    run = ConfigSyncRun(group, clients, run_id)
    if newest_plan(run) is None:
        return "nothing needs an approval"
    state = at_rest(group, run.read_register_state())
    if isinstance(state, WatchResult):
        return state.summary
    kept = _plan_of_now(run, state)
    if not (kept["needs_approval"] or (kept["safe"] and not run.group.config_sync.apply_safe)):
        return "nothing needs an approval"
    now = run.clock.now()
    if (asked := _asked_before(run, state, str(kept["digest"]), now)) is not None:
        return asked
    seconds = run.group.timing.approval_expiry_seconds
    expires_at = now + timedelta(seconds=seconds)
    question = {"digest": kept["digest"], "run": run_id, "until": expires_at.isoformat()}
    run.clients.register(state.active).write_fact(group, FACTS, _QUESTION, question)
    shown = ApprovalQuestion.of(
        _sheet(run, state, kept),
        page=page,
        digest=str(kept["digest"]),
        approvers=found_for(run, requester=""),
        expires_at=expires_at,
        expires_after_seconds=seconds,
    )
    return shown.kept(_attempt(run), clients, approval_journal(run, state.active), asked_by=asked_by)


def record_config_answer(
    group: str, clients: Clients, run_id: str, answer: Answer, *, to: str | None = None
) -> StepRecord:
    """Journal the answer to a run's question in the active cluster's register; evidence gets a copy.

    :param to: which question was answered, as in :func:`~kafka_dr.approvals.approval.record_answer`
    :raises StepFailed: it does not count, or the register did not take it
    """
    run = ConfigSyncRun(group, clients, run_id)
    return keep_answer(_attempt(run), clients, lambda: config_journal(group, clients, run_id), answer, to=to)


def config_journal(group: str, clients: Clients, run_id: str) -> ApprovalJournal:
    """Return where the question of a run and its answer are kept: the active cluster's register.

    :raises Refused: a run holds the group
    """
    run = ConfigSyncRun(group, clients, run_id)
    return approval_journal(run, _active(run))


def _attempt(run: ConfigSyncRun) -> Attempt:
    return Attempt.start(run.group.name, run.run_id, run.clients, APPROVAL, NUMBERS[APPROVAL])


def _active(run: ConfigSyncRun) -> str:
    state = at_rest(run.group.name, run.read_register_state())
    if isinstance(state, WatchResult):
        raise Refused(f"{state.summary}: nothing is approved while a run holds the group")
    return state.active


def _plan_of_now(run: ConfigSyncRun, state: RegisterState) -> Mapping[str, Any]:
    """Return the facts of this run's plan; an outdated plan is made again, so that nobody approves an outdated one."""
    kept, plan = newest_plan(run) or {}, plan_of(run, state)
    if kept.get("digest") != plan.digest:
        keep_plan(run, start_plan(run), plan)
    return newest_plan(run) or {}


def _asked_before(run: ConfigSyncRun, state: RegisterState, digest: str, now: datetime) -> str | None:
    asked = run.clients.register(state.active).facts(run.group.name, FACTS).get(_QUESTION)
    if asked is None or asked["digest"] != digest or asked["run"] == run.run_id:
        return None
    other = ConfigSyncRun(run.group.name, run.clients, asked["run"])
    answer = approval_journal(other, state.active).answered(StepName.APPROVAL)
    if answer is not None and not answer.approved:
        return f"{answer.responder} rejected this plan in run {asked['run']}: it is not asked about again"
    if datetime.fromisoformat(asked["until"]) > now:
        return f"run {asked['run']} asks about this plan until {asked['until']}: answer that question"
    return None


def _sheet(run: ConfigSyncRun, state: RegisterState, kept: Mapping[str, Any]) -> Sheet:
    """Return the question with everything that the approver has to know."""
    rows = [row for row in kept["difference"]["rows"] if row["verdict"] in (ItemVerdict.APPROVAL, ItemVerdict.SAFE)]
    rows.sort(key=lambda row: str(row["verdict"] != ItemVerdict.APPROVAL))
    target = str(kept["target"])
    group, active, standby = (markdown(name) for name in (run.group.name, state.active, target))
    shown = "\n".join(_row(row) for row in rows[:_MOST_ROWS])
    more = f"\n\nAnd {len(rows) - _MOST_ROWS} more; the evidence has all of them." if len(rows) > _MOST_ROWS else ""
    return Sheet(
        subject=subject("config sync", f"make {counted(len(rows), 'change')} on {target} for {run.group.name}?"),
        moves=f"no application: on **{standby}**, the standby of **{group}**, "
        f"{counted(len(rows), 'setting becomes', 'settings become')} as on **{active}**",
        lost=f"nothing: no change of a plan deletes a topic, or lets {standby} delete records sooner",
        writes_stop="not at all",
        read_again="nothing",
        on_failure="changes that were already made stay, and the next run plans the rest",
        consequence="makes exactly these changes, if both clusters are still as shown",
        changes=f"**What would change on {standby}**\n\n{shown}{more}",
    )


def _row(row: Mapping[str, Any]) -> str:
    now, then = (_value(row[side]) for side in ("standby", "active"))
    why = f" ({markdown(row['reason'])})" if row["reason"] else ""
    return f"* **{markdown(row['verdict'])}** {code(row['what'])}: now {now}, would be {then}{why}"


def _value(value: object) -> str:
    return "nothing" if value is None else code(value)

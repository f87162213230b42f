"""Asking a person about a plan of the config sync: once for each plan, however often it is made."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from kafka_dr.config_sync import Verdict
from kafka_dr.config_sync.lock import FACTS
from kafka_dr.failover.approval import Answer, ApprovalQuestion, newest_answer
from kafka_dr.failover.attempt import Attempt
from kafka_dr.failover.config_compare import current_plan
from kafka_dr.failover.configuration import APPROVAL, NUMBERS, keep_plan, newest_plan, start_plan
from kafka_dr.failover.request import RunRequest
from kafka_dr.failover.run import Run
from kafka_dr.failover.watched import Watched, at_rest
from kafka_dr.failover.world import World
from kafka_dr.register import RegisterState

#: The newest question, among the facts of the active cluster's register.
_QUESTION = "question"


def ask_config(group: str, world: World, run_id: str) -> ApprovalQuestion | str:
    """Make the question about what this run's newest plan may not change by itself.

    The same plan is asked about once at a time, and not again once somebody has said no to it.

    :returns: why nobody is asked, where there is no question
    """
    run = Run(RunRequest(group, run_id), world)
    if newest_plan(run) is None:
        return "nothing needs an approval"
    state = at_rest(group, run.read_standing())
    if isinstance(state, Watched):
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
    run.world.register(state.active).write_fact(group, FACTS, _QUESTION, question)
    subject = f"Change the configuration of {state.standby} for {group}?"
    body = _body(run, state, kept, expires_at)
    attempt = Attempt.start(run.request, world, APPROVAL, NUMBERS[APPROVAL])
    attempt.facts = {
        "asked": {"subject": subject, "body": body, "digest": kept["digest"], "expires_at": expires_at},
        "approvers": list(run.group.approvers),
    }
    record = attempt.end(world, "done", "asked")
    return ApprovalQuestion(
        subject, body, str(kept["digest"]), run.group.approvers, expires_at, seconds, record.evidence
    )


def _plan_of_now(run: Run, state: RegisterState) -> Mapping[str, Any]:
    """Return what this run's plan says; one that is stale by now is made anew, so that nobody decides about it."""
    kept, plan = newest_plan(run) or {}, current_plan(run, state)
    if kept.get("digest") != plan.digest:
        keep_plan(run, start_plan(run), plan)
    return newest_plan(run) or {}


def _asked_before(run: Run, state: RegisterState, digest: str, now: datetime) -> str | None:
    asked = run.world.register(state.active).facts(run.group.name, FACTS).get(_QUESTION)
    if asked is None or asked["digest"] != digest or asked["run"] == run.request.run:
        return None
    answer = _answer_of(run, asked["run"])
    if answer is not None and not answer.approved:
        return f"{answer.responder} has said no to this plan in run {asked['run']}: it is not asked again"
    if datetime.fromisoformat(asked["until"]) > now:
        return f"run {asked['run']} has asked about this plan until {asked['until']}"
    return None


def _answer_of(run: Run, other: str) -> Answer | None:
    return newest_answer(Run(RunRequest(run.group.name, other), run.world))


def _body(run: Run, state: RegisterState, kept: Mapping[str, Any], expires_at: datetime) -> str:
    rows = [row for row in kept["difference"]["rows"] if row["verdict"] in (Verdict.APPROVAL, Verdict.SAFE)]
    rows.sort(key=lambda row: str(row["verdict"] != Verdict.APPROVAL))
    shown = "\n".join(
        f"| {row['verdict']} | {_cell(row['what'])} | {_cell(row['standby'])} | {_cell(row['active'])} "
        f"| {_cell(row['reason'])} |"
        for row in rows[:100]
    )
    more = f"\n\nAnd {len(rows) - 100} more, all of them in the evidence." if len(rows) > 100 else ""
    return (
        f"The standby **{state.standby}** of **{run.group.name}** would be made as **{state.active}** is.\n\n"
        f"| | what | now on {state.standby} | would be | why |\n| --- | --- | --- | --- | --- |\n{shown}{more}\n\n"
        f"Valid until {expires_at:%Y-%m-%d %H:%M:%S} UTC. Digest of the plan: `{kept['digest']}`\n"
    )


def _cell(value: object) -> str:
    return "nothing" if value is None else str(value).replace("|", "\\|")

"""A whole run of a verb, in the order of its DAG: approvals, retries after the point of no return, roll back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import typer

from kafka_dr.approvals.who_may_answer import needs_second
from kafka_dr.command_line.answering import Answering, expired, obtain_answer
from kafka_dr.command_line.exit_codes import ExitCode
from kafka_dr.command_line.step_page import StepPage
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepFailed, StepRecord
from kafka_dr.runs.request import (
    VERBS,
    RunRequest,
    StepDefinition,
    StepName,
    definition,
    first_step,
    switch_steps,
)
from kafka_dr.verb_words import verb_words
from kafka_dr.verbs.ask_approval import ask_approval
from kafka_dr.verbs.roll_back import roll_back
from kafka_dr.verbs.runner import run_step
from kafka_dr.verbs.switch import SwitchStopped, switch
from kafka_dr.verbs.switch_rules import NextMove

_APPROVALS = (StepName.APPROVAL, StepName.SECOND_APPROVAL)
#: How often a step is tried again that can only go forward, and a roll back; and the pause before it, in seconds.
_AGAIN, _PAUSE_SECONDS = 3, 5.0


def carry_out(request: RunRequest, clients: Clients, answering: Answering, page: StepPage) -> typer.Exit:
    """Run every step, and return what ends the command."""
    try:
        return _carried_out(request, clients, answering, page)
    finally:
        # Also where somebody ends the command at its question.
        if not clients.shown.holds(request.protection_group, request.run):
            clients.shown.over(request.protection_group, request.run)


def _carried_out(request: RunRequest, clients: Clients, answering: Answering, page: StepPage) -> typer.Exit:
    switched = switch_steps(request.verb)
    for step in VERBS[request.verb].steps:
        if step.name in switched[1:]:
            continue
        try:
            if step.name in switched:
                _switched(request, clients, page)
            elif step.name in _APPROVALS:
                if not _approved(request, clients, step.name, answering, page):
                    return page.end("it is not approved; nothing was changed", ExitCode.REFUSED)
            else:
                page.show(_tried(step, request, clients, page))
        except SwitchStopped as stopped:
            page.say(str(stopped), "bold red")
            rolls_back = stopped.move is NextMove.ROLL_BACK
            failed = replace(definition(stopped.step, request.verb), rolls_back=rolls_back)
            return _failed(failed, request, clients, page)
        except StepFailed as failure:
            page.show(failure.record)
            return _failed(step, request, clients, page)
        except KafkaDrError as error:
            page.say(str(error), "bold red")
            unapproved = step.name in _APPROVALS and isinstance(error, Refused)
            return _failed(step, request, clients, page, ExitCode.REFUSED if unapproved else ExitCode.UNKNOWN)
    clients.shown.over(request.protection_group, request.run)
    return page.end(f"the {verb_words(request.verb)} of {request.protection_group} is done")


def _approved(request: RunRequest, clients: Clients, step: StepName, answering: Answering, page: StepPage) -> bool:
    if step is StepName.SECOND_APPROVAL and not needs_second(request, clients):
        return True
    question = ask_approval(request, clients, step)
    answer = obtain_answer(request, clients, step, question, answering, page)
    if answer is None:
        page.show(expired(request, clients, step))
        return False
    page.say(f"{'approved' if answer.approved else 'rejected'} by {answer.responder}, verified by {answer.verified}")
    return answer.approved


def _switched(request: RunRequest, clients: Clients, page: StepPage, left: int = _AGAIN) -> None:
    """Run the steps from the claim to the flipped route in this process, again where only that can help.

    :param left: how often it is tried again
    """
    try:
        switch(request, clients, PageWatch(page))
    except SwitchStopped as stopped:
        if stopped.move is not NextMove.LATER or not left:
            raise
        page.say(f"{stopped}: it is tried again in {duration(_PAUSE_SECONDS)}", "yellow")
        clients.clock.sleep(_PAUSE_SECONDS)
        _switched(request, clients, page, left - 1)


@dataclass(frozen=True, slots=True)
class PageWatch:
    """Shows the steps of a switch as they end."""

    page: StepPage

    def begins(self, step: StepName) -> None:
        """Show nothing: it is shown when it has ended."""

    def ended(self, record: StepRecord) -> None:
        """Show the record."""
        self.page.show(record)

    def says(self, sentence: str) -> None:
        """Show it as a warning."""
        self.page.say(sentence, "yellow")


def _tried(step: StepDefinition, request: RunRequest, clients: Clients, page: StepPage, left: int = -1) -> StepRecord:
    """Run a step; one that can only go forward is tried again, as in Airflow. A refusal never is.

    :param left: how often it is tried again; -1: as often as its kind of step
    """
    if left < 0:
        left = _AGAIN if step.goes_forward else 0
    try:
        return run_step(step.name, request, clients)
    except StepFailed as failure:
        if failure.record.outcome == "refused" or not left:
            raise
        page.say(f"{failure}: it is tried again in {duration(_PAUSE_SECONDS)}", "yellow")
    clients.clock.sleep(_PAUSE_SECONDS)
    return _tried(step, request, clients, page, left - 1)


def _failed(
    step: StepDefinition, request: RunRequest, clients: Clients, page: StepPage, code: ExitCode | None = None
) -> typer.Exit:
    """Roll back what can be rolled back, as in Airflow, and say what to do next."""
    again = f"--group {page.group} --run {page.run} --reason WHY"
    if step.name in (first_step(request.verb), *_APPROVALS):
        return page.end("the run has ended before anything was changed", code)
    if not step.rolls_back:
        return page.end(f"run {page.run} has stopped at {step.name}; continue it with: resume {again}", code)
    failed = f"run {page.run} failed at {step.name}"
    if (back := _rolled_back(request, clients, page, _AGAIN)) is not None:
        clients.shown.over(request.protection_group, request.run)
        return page.end(f"{failed} and was rolled back: {back.detail}", ExitCode.BAD)
    return page.end(f"{failed} and is not rolled back: abandon {again}, or resume {again}", ExitCode.BAD)


def _rolled_back(request: RunRequest, clients: Clients, page: StepPage, left: int) -> StepRecord | None:
    """Roll the run back, again while that fails; ``None`` where it does not come through.

    :param left: how often it is tried
    """
    refused = False
    try:
        record = roll_back(request, clients)
        page.show(record)
        return record
    except StepFailed as failure:
        page.show(failure.record)
        refused = failure.record.outcome == "refused"
    except KafkaDrError as error:
        page.say(str(error), "bold red")
    if refused or left <= 1:
        return None
    clients.clock.sleep(_PAUSE_SECONDS)
    return _rolled_back(request, clients, page, left - 1)

"""``approve`` and ``review``: what people say about a run, from any terminal that reaches the clusters."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kafka_dr import parallel
from kafka_dr.approvals.approval import record_answer
from kafka_dr.approvals.journaled import QUESTIONS, AskedQuestion, journal_of
from kafka_dr.approvals.kept_question import asked_somebody, kept_question
from kafka_dr.approvals.signed import REVIEWED, approver_of, key_people, unreviewed
from kafka_dr.clock import SystemClock
from kafka_dr.command_line.answering import agrees, show_question, sign_answer
from kafka_dr.command_line.exit_codes import with_exit_codes
from kafka_dr.command_line.keys import read_key
from kafka_dr.command_line.opened import (
    AsJson,
    CommandFiles,
    ConnectionsFile,
    EvidenceFolder,
    GroupName,
    TopologyFile,
    opened,
)
from kafka_dr.command_line.step_page import StepPage
from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.people import Person
from kafka_dr.register import Verb
from kafka_dr.runs.background import BackgroundCall
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepFailed
from kafka_dr.runs.register_read import NEEDED_SECONDS
from kafka_dr.runs.request import VERBS, RunRequest, StepName
from kafka_dr.runs.run import Run
from kafka_dr.topology.model import Topology
from kafka_dr.waiting import wait_until

#: Looks cost nothing, and a person waits.
_PAUSE_SECONDS = 0.05
RunId = Annotated[str, typer.Option("--run", help="the run, as failover and failback show it", show_default=False)]
Key = Annotated[Path, typer.Option("--key", help="your private key, mode 0600", show_default=False)]


@with_exit_codes
def approve(
    group: GroupName,
    run: RunId,
    key: Key,
    reject: Annotated[bool, typer.Option("--reject", help="reject it without typing")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="approve it without typing")] = False,
    reason: Annotated[str, typer.Option("--reason", help="a remark; kept with the evidence")] = "",
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
    evidence: EvidenceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Show the question of a run in full, and sign your answer. It counts once, for this run and these facts."""
    with opened(CommandFiles(topology, connections, evidence), people_of=lambda t, *_: _all_keys(t)) as clients:
        page, private = StepPage(group, run, as_json), read_key(key)
        asking, step, asked = _question(group, run, clients)
        _require_open(asked, asking)
        person = approver_of(asking.group, private)
        if person is None or asked.approver(person.id) is None:
            raise Refused(f"{key} is not the key of somebody who may answer this: approver_keys of {group} names them")
        shown = _shown(asking, step, asked)
        show_question(shown["subject"], shown["body"], "", page)
        approved = not reject and (yes or agrees())
        answer = sign_answer(asking, asked, person, private, approved=approved, reason=reason)
        try:
            page.show(record_answer(asking.request, clients, answer, step))
        except StepFailed as failure:
            page.show(failure.record)
            raise page.end("the answer does not count") from None
        raise page.end(f"{'approved' if approved else 'rejected'} by {person.name}")


def _all_keys(topology: Topology) -> tuple[Person, ...]:
    groups = topology.protection_groups.values()
    return tuple({person for group in groups for person in key_people(group)})


def _question(group: str, run: str, clients: Clients) -> tuple[Run, StepName, AskedQuestion]:
    """Return the open question of a run, from the register that holds it.

    :raises Refused: no register that answers has one
    """
    silent = ""
    verbs, without = _asked_about(group, run, clients)
    for verb in verbs:
        try:
            asking = Run(RunRequest(group, run, verb=verb), clients)
            journal = journal_of(asking)
            for step in (StepName.SECOND_APPROVAL, StepName.APPROVAL):
                if journal.answered(step) is None and (asked := journal.asked(step)) is not None:
                    return asking, step, asked
        except KafkaDrError as error:
            silent = f" ({error})"
    silent = silent or (f" (no answer from {' and '.join(without)})" if without else "")
    raise Refused(f"no register has an open question of run {run} of {group}: look at the id of the run{silent}")


def _asked_about(group: str, run: str, clients: Clients) -> tuple[list[Verb], list[str]]:
    """Return the verbs that the questions of a run are about, and the clusters whose registers did not answer.

    The first register that has a question is enough: the source of an unplanned failover is dead, and is not waited
    for.
    """

    def questions(cluster: str) -> set[str]:
        facts = clients.register(cluster).facts(group, run)
        return {str(fact.get("verb")) for name, fact in facts.items() if name.partition(".")[0] in QUESTIONS.values()}

    calls = {
        name: BackgroundCall(f"the register of {name}", partial(questions, name))
        for name in clients.topology.group(group).clusters
    }

    def found() -> set[str]:
        return set().union(*(_answer(call) or () for call in calls.values()))

    seen = wait_until(
        found,
        lambda verbs: bool(verbs) or all(call.answered for call in calls.values()),
        clock=SystemClock(),
        seconds=NEEDED_SECONDS,
        pause_seconds=_PAUSE_SECONDS,
    )
    return [verb for verb in VERBS if verb in seen], [name for name, call in calls.items() if _answer(call) is None]


def _answer(call: BackgroundCall[set[str]]) -> set[str] | None:
    try:
        return call.within(0)
    except KafkaDrError:
        return None


def _require_open(asked: AskedQuestion, run: Run) -> None:
    if not asked.is_open(run.clock.now()):
        raise Refused(
            f"the question of run {run.request.run} was open until {asked.expires_at:%Y-%m-%d %H:%M:%S} UTC, and "
            "nobody can answer it any more. Nothing was changed: begin a new run"
        )


def _shown(run: Run, step: StepName, asked: AskedQuestion) -> dict[str, str]:
    """Return what the question shows, from the evidence; the register holds its digest.

    :raises Refused: the evidence has another text, or none
    """
    kept = list(run.clients.evidence.attempts(run.group.name, run.request.run, step.value))
    if (found := kept_question(kept, asked.digest)) is not None:
        return {name: str(found["facts"]["asked"][name]) for name in ("subject", "body", "digest")}
    if any(map(asked_somebody, kept)):
        raise Refused(
            f"the evidence shows another question of run {run.request.run} than the register knows: do not "
            "approve it. Find out who changed it, and begin a new run"
        )
    raise Refused(
        f"the evidence that this command reads has no question of run {run.request.run}: give --evidence with the "
        "folder that the run writes to"
    )


@with_exit_codes
def review(
    group: GroupName,
    run: RunId,
    by: Annotated[str, typer.Option("--by", help="who has looked at it", show_default=False)],
    reason: Annotated[str, typer.Option("--reason", help="what was found", show_default=False)],
    topology: TopologyFile = None,
    connections: ConnectionsFile = None,
) -> None:
    """Say that somebody has looked at a run that was approved by break glass; dr_health then stops naming it."""
    with opened(CommandFiles(topology, connections)) as clients:
        clusters = clients.topology.group(group).clusters
        histories = parallel.ask_each(lambda name: clients.register(name).history(group), clusters)
        found = [
            name
            for name, history in histories.items()
            if not isinstance(history, KafkaDrError) and run in unreviewed(history)
        ]
        if not found:
            raise Refused(f"no register that answers has an unreviewed break glass of run {run} of {group}")
        fact = {"by": by, "reason": reason, "at": clients.clock.now().isoformat()}
        for name in found:
            clients.register(name).write_fact(group, run, REVIEWED, fact)
        typer.echo(f"{run} is reviewed by {by}, in the register of {', '.join(found)}")

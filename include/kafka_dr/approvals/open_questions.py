"""Whether another run of the group waits for its approval. Two at the same time would ask for the same group twice.

Only a run counts that is known to run: what a dead Airflow has asked must not hold up who acts without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kafka_dr.approvals.journaled import ANSWERS, QUESTIONS, AskedQuestion
from kafka_dr.errors import KafkaDrError
from kafka_dr.outcomes import Check
from kafka_dr.quoting import line
from kafka_dr.runs.run import Run
from kafka_dr.verb_words import verb_words

_NAME = "no_other_run_waits"


def no_other_run_waits(run: Run) -> Check:
    """Return whether no other run of the group waits for an answer; an override with a reason passes one.

    An unplanned failover asks the target alone: what only the lost cluster holds cannot be asked about, and a planned
    failover that waits would not hold it up. A dry run asks nobody, so it is in nobody's way.
    """
    if run.request.dry_run:
        return Check(_NAME, "ok", "a dry run asks nobody")
    unplanned = run.request.verb == "unplanned_failover"
    asked: dict[str, AskedQuestion] = {}
    try:
        for cluster in (run.target,) if unplanned else run.declared.clusters:
            for name, facts in run.clients.register(cluster).history(run.declared.name).items():
                question = None if name == run.request.run else unanswered(facts, run.clients.clock.now())
                if question is not None and run.clients.executor.still_runs(question.verb, name):
                    asked[name] = question
    except KafkaDrError as error:
        # The claim keeps two runs apart in any case; this only spares people a second question.
        return Check(_NAME, "excused", f"it is not known whether another run waits for an answer: {error}")
    if not asked:
        return Check(_NAME, "ok", "no other run waits for an answer")
    name, found = max(asked.items(), key=lambda each: each[1].expires_at)
    people = " or ".join(line(person.name) for person in found.approvers)
    said = (
        f"another {verb_words(found.verb)} of {run.declared.name} waits for an answer ({line(name)}): {people} may "
        f"reject it, or it expires at {found.expires_at:%H:%M:%S} UTC"
    )
    if unplanned and run.request.override:
        return Check(_NAME, "overridden", said)
    return Check(_NAME, "failed", f"{said}. Then trigger this one again")


def unanswered(facts: Mapping[str, Any], now: datetime) -> AskedQuestion | None:
    """Return the question of a run that an answer would still count for.

    :param facts: everything that the run has journaled
    :param now: UTC
    """
    for step, prefix in QUESTIONS.items():
        for name, fact in facts.items():
            number = name.removeprefix(f"{prefix}.")
            if number == name or f"{ANSWERS[step]}.{number}" in facts or "claim" in facts:
                continue
            try:
                question = AskedQuestion.from_json(fact)
            except (KeyError, TypeError, ValueError):
                continue  # it cannot be answered, either
            if question.expires_at > now:
                return question
    return None

"""Whether a run may have the id that it has. Ids can meet: each DAG, and the command line, makes its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_dr.approvals.journaled import ANSWERS, QUESTIONS
from kafka_dr.outcomes import Check
from kafka_dr.runs.run import Run
from kafka_dr.runs.sealing import SEALED
from kafka_dr.verb_words import verb_words, with_article

#: What a run may have journaled that has claimed nothing: it was asked about before, or its evidence waits.
_BEFORE_THE_CLAIM = (*QUESTIONS.values(), *ANSWERS.values(), SEALED, "unfiled")


def is_new(run: Run) -> Check:
    """Return whether the registers know another run by this id, or one that has claimed the group before.

    To be asked before anybody is asked for an approval. A run of the same verb may ask again.
    """
    known = known_as(run.journal, run.request.verb)
    said = f"no register knows another run {run.request.run}"
    if known:
        said = (
            f"the registers know run {run.request.run} of {run.group.name} already: {known}. A run needs an id of its "
            "own: trigger a new run"
        )
    return Check.that("run_id_is_new", not known, said)


def known_as(facts: Mapping[str, Any], verb: str) -> str:
    """Return what else the registers know under the id of a run; empty if a run of this verb may have it.

    :param facts: everything that is journaled under the id
    """
    if "claim" in facts:
        claim = facts["claim"]
        held = verb_words(str(claim.get("verb", "planned_failover")))
        return f"it is {with_article(held)} that has claimed the group (epoch {claim.get('epoch')})"
    asked = {str(fact.get("verb")) for name, fact in facts.items() if _kind(name) in QUESTIONS.values()}
    if others := asked - {verb}:
        return f"it is a run of {', '.join(map(verb_words, sorted(others)))}"
    foreign = [name for name in facts if _kind(name) not in _BEFORE_THE_CLAIM]
    return f"it has journaled {', '.join(sorted(foreign))}" if foreign else ""


def _kind(name: str) -> str:
    return name.partition(".")[0]

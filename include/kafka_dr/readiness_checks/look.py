"""One look at the readiness of a group, for every verb, kept with since when each check is as it is."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import get_args

from kafka_dr.errors import KafkaDrError
from kafka_dr.json_documents import DocumentDamaged
from kafka_dr.outcomes import Check
from kafka_dr.readiness.judge import facts_of, judged
from kafka_dr.readiness.model import Answer, ReadyVerb, VerbReadiness
from kafka_dr.readiness_checks.drill_facts import drill_facts
from kafka_dr.readiness_checks.verbs import ask, not_adopted, with_checks
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.clients import Clients
from kafka_dr.watch_results import WatchOutcome, WatchResultStore

#: How the answers are called where people read them.
WORDS: dict[Answer, str] = {
    "ready": "ready",
    "ready_with": "ready, with warnings",
    "not_ready": "not ready",
    "unknown": "unknown",
    "not_needed": "not needed",
}
#: The fact that has what this process sees of the files that executors share.
SEEN = "seen"
#: From the worst to the best.
_OUTCOMES: tuple[tuple[Answer, WatchOutcome], ...] = (
    ("not_ready", "failed"),
    ("unknown", "unknown"),
    ("ready_with", "warning"),
)


def look_at_readiness(group: str, clients: Clients, of_executor: tuple[Check, ...] = ()) -> WatchResult:
    """Ask every verb whether it could be used now. Nothing is changed on any cluster.

    A group that nobody adopted is not ready, and is left alone as every watch leaves it alone.

    :param of_executor: what was checked where the steps of every verb run
    """
    found = tuple(with_checks(ask(verb, group, clients), of_executor) for verb in get_args(ReadyVerb))
    before = _facts_before(group, clients)
    verbs = judged(found, before, clients.clock.now())
    answers = {verb.answer for verb in verbs}
    outcome: WatchOutcome = next((outcome for answer, outcome in _OUTCOMES if answer in answers), "ok")
    if any(check.detail == not_adopted(group) for verb in verbs for check in verb.checks):
        outcome = "left_alone"
    said = tuple(sentence for verb in verbs for sentence in _sentences(verb))
    kept = {"drill": drill_facts(group, clients, before), SEEN: seen_here(group, clients)}
    return WatchResult(group, outcome, said, {**facts_of(verbs), **kept})


def seen_here(group: str, clients: Clients) -> dict[str, str]:
    """Return what this process sees of the files that every executor has to see alike: compared, and never shown."""
    declared = json.dumps(clients.topology.model_dump(mode="json"), sort_keys=True)
    try:
        route = clients.router(clients.topology.group(group)).read()
        shown = f"{route.active} {route.epoch}" if route is not None else ""
    except KafkaDrError as error:
        shown = str(error)
    return {"topology": sha256(declared.encode()).hexdigest(), "route": shown}


def _facts_before(group: str, clients: Clients) -> dict[str, object] | None:
    try:
        before = WatchResultStore(clients.evidence_root).read(group, "readiness")
    except (DocumentDamaged, OSError, KafkaDrError):
        return None
    return dict(before.facts) if before is not None else None


def _sentences(verb: VerbReadiness) -> tuple[str, ...]:
    name = verb.verb.replace("_", " ")
    said = f"{name}: {WORDS[verb.answer]}"
    if verb.answer in ("not_ready", "unknown"):
        said = f"{said}: {verb.open[0].name}: {verb.open[0].detail}"
    return (said, *(f"{name}: {each}" for each in verb.expected))

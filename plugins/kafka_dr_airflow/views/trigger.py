"""Forms that are filled in already, opened from the status page. A form is sent to Airflow's own API, by its reader."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, HTTPException, status
from fastapi.responses import HTMLResponse

from kafka_dr.disaster.disaster_rule import vantages_missing
from kafka_dr.drill.windows import is_open
from kafka_dr.durations import age_of, duration, moment
from kafka_dr.errors import KafkaDrError
from kafka_dr.evidence.page import render_trigger, script_source, with_way_back
from kafka_dr.evidence.readiness_view import verb_lines
from kafka_dr.evidence.standby_lines import targets_of
from kafka_dr.evidence.trigger_view import FORMS, TriggerView, trigger_fields
from kafka_dr.register import Phase
from kafka_dr.register.roles import Role
from kafka_dr.runs.request import MOVES
from kafka_dr.situations.group_facts import FAILOVERS
from kafka_dr.situations.group_now import GroupNow
from kafka_dr.topology.model import ProtectionGroup
from kafka_dr.watch_results import OpenRun, RunningStep, WatchedGroup, WatchResultStore, read_status
from kafka_dr_airflow.links import airflow_path, evidence_url, group_url, status_url
from kafka_dr_airflow.topology_file import read_topology
from kafka_dr_airflow.views.kept_pages import LINKED_HEADERS, AirflowSays, root, seen_now

#: It has no dependencies of its own: the app that includes it asks who may see it.
router = APIRouter()


@router.get("/start/{dag_id}/{group}")
def start_page(dag_id: str, group: str, has_ended: AirflowSays) -> HTMLResponse:
    """Show the form of a DAG for a group."""
    if dag_id not in FORMS:
        said = f"There is no form of {dag_id} here. The forms are {', '.join(FORMS)}."
        raise HTTPException(status.HTTP_404_NOT_FOUND, said)
    try:
        spec = read_topology(os.environ).group(group)
    except KafkaDrError as error:
        raise HTTPException(status.HTTP_404_NOT_FOUND, str(error)) from error
    kept, now = root(), datetime.now(UTC)
    (watched,) = read_status([group], WatchResultStore(kept), now)
    seen = seen_now(kept, watched, now, has_ended)
    open_now = {line.run for line in seen.lines}
    asked = [each for each in seen.asked if each.run in open_now]
    running = [each for each in seen.running if each.run in open_now]
    known, record = seen.now, seen.now.record
    offered, nonce = FORMS[dag_id], secrets.token_urlsafe(16)
    said, colour = _known(dag_id, known)
    view = TriggerView(
        offered.title,
        group,
        offered.about,
        said,
        colour,
        trigger_fields(
            dag_id,
            spec.clusters,
            active=record.active if record.known else "",
            standby=record.standby if record.known else "",
            needed=_needed(spec, watched, known, now),
            chosen={"mode": "rebuild"} if known.facts.needs_rebuild else {},
            targets=_targets(dag_id, known, now),
        ),
        f"{airflow_path()}api/v2/dags/{dag_id}/dagRuns",
        evidence_url(group, ""),
        (*_not_now(dag_id, spec, known, now), *_refusals(dag_id, asked, running, now)),
        _seen(known, watched, now) if dag_id == "dr_unplanned_failover" else "",
    )
    page = with_way_back(
        render_trigger(view, nonce), [("DR status", status_url()), (f"Everything of {group}", group_url(group))]
    )
    return HTMLResponse(page, headers=form_headers(nonce))


def _targets(dag_id: str, known: GroupNow, now: datetime) -> tuple[tuple[str, str], ...]:
    """Return the standbys of several that a run of the DAG may concern; nothing if the record is not known now."""
    if dag_id == "dr_failback" and known.record.known:
        return tuple((name, f"{name}, {Role.DIVERGED}") for name in _diverged(known))
    verb = next((each for each in FAILOVERS if dag_id == f"dr_{each}"), None)
    return targets_of(known, now, verb) if verb and known.record.known else ()


def _diverged(known: GroupNow) -> tuple[str, ...]:
    """Return the standbys of several that a failback may make copies again."""
    return tuple(name for name, role in known.facts.roles.items() if role == Role.DIVERGED)


def _needed(spec: ProtectionGroup, watched: WatchedGroup, known: GroupNow, now: datetime) -> dict[str, str]:
    """Return the fields without which a run would be refused now, each with the reason.

    How long ago the group was moved is in the register alone; what health has read there is kept.
    """
    found = {"override": vantages_missing(spec.disaster)}
    if known.facts.needs_rebuild:
        found["mode"] = f"a rebuild, because {known.facts.refused}"
    health, limit = watched.of("health").result, spec.timing.hold_down_seconds
    facts = health.facts if health else {}
    at = str(facts.get("recorded_at") or "")
    if at and facts.get("verb") in MOVES and (now - datetime.fromisoformat(at)).total_seconds() < limit:
        found["acknowledged"] = (
            f"the group was moved at {datetime.fromisoformat(at):%H:%M:%S} UTC, less than hold_down_seconds "
            f"({duration(limit)}) ago"
        )
    return {name: why for name, why in found.items() if why}


def _seen(known: GroupNow, watched: WatchedGroup, now: datetime) -> str:
    """Return what health saw last of the active cluster, and since when; empty if it has not looked lately."""
    active, health = known.facts.active, watched.of("health")
    if not active or health.result is None or known.facts.late is not None:
        return ""
    looked = f"as dr_health saw it {age_of(now - health.result.looked_at)}"
    if active not in known.facts.silent:
        return f"{active}, the active cluster, answers, {looked}." if known.record.known else ""
    since = known.facts.silent[active]
    away = f"{active}, the active cluster, does not answer{f' since {moment(since, now)}' if since else ''}, {looked}."
    return f"{away} By the topology's rule it is down: {known.facts.down}." if known.facts.down else away


def _not_now(dag_id: str, spec: ProtectionGroup, known: GroupNow, now: datetime) -> Iterator[str]:
    """Yield why a drill, or a failback, would be refused for what the group is. A failover asks the clusters itself."""
    phase = known.facts.phase.replace("_", " ") if known.record.known else ""
    if dag_id == "dr_failback" and phase and phase != Phase.DIVERGED and not _diverged(known):
        yield f"{spec.name} is {phase}, and a failback needs a group that is diverged. A dry run is not refused."
    if dag_id != "dr_drill":
        return
    if spec.drill is None:
        yield f"the topology declares no drills of {spec.name} (drill)."
    elif not is_open(spec.drill.windows, now):
        windows = ", ".join(spec.drill.windows)
        yield f"it is {now:%a %H:%M} UTC, and drills of {spec.name} begin {windows} (drill.windows)."
    if phase and phase != Phase.STABLE:
        yield f"{spec.name} is {phase}, and a drill must not be in its way: try again when it is stable."
    if known.facts.drill == "running":
        yield f"a drill of {spec.name} runs already: wait for its result."


def _refusals(dag_id: str, asked: Iterable[OpenRun], running: Iterable[RunningStep], now: datetime) -> Iterator[str]:
    """Yield why a second run of a verb is refused while a run of the group is open."""
    yield from (_waits(each) for each in asked if each.is_waiting(now) and _is_in_the_way(each.dag_id, dag_id))
    for step in running:
        if step.holds and not step.dry_run and _is_in_the_way(f"dr_{step.verb}", dag_id):
            said = f"Run {step.run} may hold the group. {step.sentence(now).rstrip('.')}"
            yield f"{said}. A second run is refused until it has ended: look at it first. A dry run is not."


def _is_in_the_way(open_dag_id: str, dag_id: str) -> bool:
    """Return whether an open run refuses another: an unplanned failover is only refused by one of its kind."""
    moves = dag_id.removeprefix("dr_") in MOVES
    return moves and (dag_id != "dr_unplanned_failover" or open_dag_id == dag_id)


def _waits(run: OpenRun) -> str:
    people = " or ".join(run.people)
    return (
        f"{run.question} {people} may answer that until {run.expires_at:%H:%M} UTC. A second run is refused until it "
        "is answered, or expires. A dry run is not."
    )


def _known(dag_id: str, known: GroupNow) -> tuple[str, Any]:
    """Return what readiness says of the verb, and its colour; empty if the DAG is none of its verbs."""
    ready, record = known.ready, known.record
    lines = verb_lines(ready, {"active": record.active, "standby": known.facts.one_standby})
    named = [verb.verb for verb in ready.verbs if verb.answer != "not_needed"]
    line = dict(zip(named, lines, strict=True)).get(dag_id.removeprefix("dr_"))  # type: ignore[call-overload]
    return (f"{line.question} {line.word}", line.colour) if line else ("", "unknown")


def form_headers(nonce: str) -> dict[str, str]:
    """Return the headers of a form: our scripts alone run, it speaks to Airflow alone, and no page frames it."""
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}' {script_source()}; "
        "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    )
    return {**LINKED_HEADERS, "Content-Security-Policy": policy, "Cache-Control": "no-store"}

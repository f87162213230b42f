"""See that it works: the old side refuses, a canary goes round through the route, no group has lost its place.

Whoever no fence stops, a super user perhaps, may have written on the old side after it was last looked at. Nothing is
copied there yet, so its logs tell: what lies past the drained ends is named, and is no reason to stop here, as the new
side has to be protected. That somebody still writes is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka_dr.canary.probe import round_trip
from kafka_dr.checks.writes_after_fence import find_writes_after_fence, old_side_is_still
from kafka_dr.clusters import KafkaCluster, TopicPartition
from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.failover.planned import open_target
from kafka_dr.group_offsets import translation
from kafka_dr.offsets import decreased, past_end
from kafka_dr.runs.offset_rows import positions_from_json
from kafka_dr.runs.record import Check
from kafka_dr.runs.run import Run


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (
        "publish canary records where the route points and read them back",
        f"let {', '.join(run.group.principals)} create, delete and alter topics, and delete groups, on {run.target}",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Look at what was left behind, and send the canary round."""
    passed = find_writes_after_fence(run)
    seen = send_canary(run, passed.to_json())
    open_target.let_change(run)
    return {**seen, "past_the_fence": passed.detail}


def send_canary(run: Run, journaled: Mapping[str, Any]) -> Mapping[str, Any]:
    """Publish where the route points, read it back, and journal when that was done.

    :param journaled: what is to stand beside that
    """
    route = run.clients.router(run.group).read()
    if route is None or route.active != run.target:
        raise Refused(
            f"the route names {route.active if route else 'nothing'}, not {run.target}: flip_route has to run"
        )
    settings = replace(run.probe(run.target).settings, bootstrap_servers=route.bootstrap_servers)
    with KafkaCluster(f"{run.target} by its route", settings) as cluster:
        trip = round_trip(cluster, run.group.canary_topic, origin=run.target, clock=run.clock)
    verified_at = run.clock.now()
    run.write_fact("verified", {"at": verified_at.isoformat(), **journaled}, needed_on=[run.target])
    return {"canary": trip, "verified_at": verified_at, "writing": _writing(run), "not_yet_seen": _without_members(run)}


def prove(run: Run) -> Sequence[Check]:
    """The old side refuses still, and takes no record from anybody; offsets have only moved forward."""
    return run.at_once(lambda: _old_side_refuses(run), lambda: old_side_is_still(run), lambda: offsets_hold(run))


def _old_side_refuses(run: Run) -> Check:
    try:
        found = run.writes_refused(run.source)
    except KafkaDrError as error:
        # It was proven fenced before the target was opened; a datacenter that dies now takes no writes either.
        said = f"{run.source} does not answer; its fence was proven before: {error}"
        return Check("old_side_refuses", "excused", said)
    return Check.of("old_side_refuses", found)


def offsets_hold(run: Run) -> Check:
    """Return whether every position that was set on the target stands or has moved forward."""
    placed: dict[str, dict[TopicPartition, int]] = {}
    for position in translation.from_json(run.fact("translations")["positions"]):
        if position.target_offset is not None:
            placed.setdefault(position.group, {})[position.partition] = position.target_offset
    found = run.operator(run.target).groups.offsets(placed, require_stable=False)
    held = {group: {p: found[group][p] for p in offsets if p in found[group]} for group, offsets in placed.items()}
    ends = run.operator(run.target).topics.high_watermarks({p for offsets in placed.values() for p in offsets})
    problems = (*decreased(placed, held), *past_end(held, ends))
    counted = sum(map(len, placed.values()))
    said = "; ".join(f"{p.group} {p.partition} {p.detail}" for p in problems[:5])
    return Check.that("offsets_hold", not problems, said or f"{counted} positions stand or have moved forward")


def _writing(run: Run) -> list[str]:
    """Return the topics that applications have written to since the target was opened."""
    before = positions_from_json(run.fact("target_ends")["ends"])
    now = run.operator(run.target).topics.high_watermarks(before)
    return sorted({p.topic for p in before if now[p] > before[p] and p.topic != run.group.canary_topic})


def _without_members(run: Run) -> list[str]:
    """Return the groups that have no member on the target so far."""
    states = run.operator(run.target).groups.states(run.moved_groups(run.target))
    return sorted(group for group, state in states.items() if not state.members)

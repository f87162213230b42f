"""Check that the target works: the old cluster refuses writes, a canary arrives, no group's offset has moved back.

A principal that no fence stops, maybe a super user, may have written to the old cluster after the last look. No flow
writes there yet, so its log ends show that. Such records are named and do not stop the run, as the new active cluster
has to be protected. A principal that still writes stops it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka_dr import parallel
from kafka_dr.canary.probe import round_trip
from kafka_dr.checks.writes_after_fence import find_writes_after_fence, old_cluster_is_still
from kafka_dr.clusters import KafkaCluster, ResourceType
from kafka_dr.errors import KafkaDrError, Refused, Unanswered
from kafka_dr.failover.planned import copy_first, open_target
from kafka_dr.fencing import plan
from kafka_dr.named_rows import positions_from_json
from kafka_dr.offsets.translate.answers import to_commit, translations_from_json
from kafka_dr.offsets.verify import decreased, past_end
from kafka_dr.outcomes import Check
from kafka_dr.runs.run import Run


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (
        f"publish canary records to the cluster that the route names, expected {run.target}, and read them back",
        f"let {', '.join(run.group.principals)} create, delete and alter topics, and delete groups, on {run.target}",
    )


def act(run: Run) -> Mapping[str, Any]:
    """Look for records that were written to the old cluster after the fence, and send a canary."""
    late = _fence_new_topics(run)
    passed = find_writes_after_fence(run)
    seen = send_canary(run, passed.to_json())
    open_target.allow_changes(run)
    return {**seen, "past_the_fence": passed.detail, **late}


def _fence_new_topics(run: Run) -> dict[str, list[str]]:
    """Fence topics of the old cluster that a pattern matches and that somebody created after its fence.

    What was written to them before is only there: the report names such topics.
    """
    if not run.declared.topic_patterns:
        return {}
    try:
        run.look_for_topics(run.source)
        added = run.acl_changes(run.source, run.guard(run.record().phase)).add(
            *plan.standby_in_order(run.group.on(run.source))
        )
    except Unanswered:
        # Its fence was proven. If it answers again, dr_health fences what is missing.
        return {}
    return {"topics_fenced_late": sorted({acl.name for acl in added if acl.resource is ResourceType.TOPIC})}


def send_canary(run: Run, journaled: Mapping[str, Any]) -> Mapping[str, Any]:
    """Publish to the cluster that the route names, read it back, and journal when that was done.

    :param journaled: facts to journal together with the time
    :raises Refused: the route does not name the target, or writers are not let in there
    """
    copy_first.require_writers_let_in(run)
    route = run.clients.router(run.group).read()
    if route is None or route.active != run.target:
        raise Refused(
            f"the route of {run.group.name} names {route.active if route else 'no cluster'}, expected {run.target}: "
            "clear the task switch with downstream, or run dr_resume with finish"
        )
    settings = replace(run.probe(run.target).settings, bootstrap_servers=route.bootstrap_servers)
    with KafkaCluster(f"{run.target} by its route", settings) as cluster:
        trip = round_trip(cluster, run.group.canary_topic, origin=run.target, clock=run.clock)
    verified_at = run.clock.now()
    run.write_fact("verified", {"at": verified_at.isoformat(), **journaled}, needed_on=[run.target])
    return {"canary": trip, "verified_at": verified_at, "writing": _writing(run), "not_yet_seen": _without_members(run)}


def prove(run: Run) -> Sequence[Check]:
    """The old cluster refuses writes and its log does not grow; the groups' offsets have only moved forward."""
    return parallel.at_once(
        lambda: _old_cluster_refuses(run), lambda: old_cluster_is_still(run), lambda: offsets_hold(run)
    )


def _old_cluster_refuses(run: Run) -> Check:
    try:
        found = run.writes_refused(run.source)
    except KafkaDrError as error:
        # Its fence was proven before the target was opened. A datacenter that dies now accepts no writes either.
        said = f"{run.source} does not answer; its fence was proven before the target was opened: {error}"
        return Check("old_cluster_refuses", "excused", said)
    return found.named("old_cluster_refuses")


def offsets_hold(run: Run) -> Check:
    """Return whether every offset that was set on the target is unchanged or has moved forward."""
    set_offsets = to_commit(translations_from_json(run.fact("translations")))
    found = run.operator(run.target).groups.offsets(set_offsets, require_stable=False)
    held = {group: {p: found[group][p] for p in offsets if p in found[group]} for group, offsets in set_offsets.items()}
    ends = run.operator(run.target).topics.high_watermarks({p for offsets in set_offsets.values() for p in offsets})
    problems = (*decreased(set_offsets, held), *past_end(held, ends))
    counted = sum(map(len, set_offsets.values()))
    said = "; ".join(f"{p.group} {p.partition} {p.detail}" for p in problems[:5])
    return Check.that(
        "offsets_hold", not problems, said or f"{counted} offsets on {run.target} are unchanged or have moved forward"
    )


def _writing(run: Run) -> list[str]:
    """Return the topics on the target that applications have written to since it was opened."""
    before = positions_from_json(run.fact("target_ends")["ends"])
    now = run.operator(run.target).topics.high_watermarks(before)
    return sorted({p.topic for p in before if now[p] > before[p] and p.topic != run.group.canary_topic})


def _without_members(run: Run) -> list[str]:
    """Return the groups that have no member on the target so far."""
    states = run.operator(run.target).groups.states(run.moved_groups(run.target))
    return sorted(group for group, state in states.items() if not state.members)

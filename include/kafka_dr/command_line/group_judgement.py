"""The situation of a group on the command line: the judgement of every page, with what the registers say at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from kafka_dr.command_line.group_status import GroupStatus
from kafka_dr.errors import KafkaDrError
from kafka_dr.situations.group_facts import Finding, GroupFacts
from kafka_dr.situations.group_now import GroupNow, group_now
from kafka_dr.situations.judgement import judge
from kafka_dr.situations.reading import read_now
from kafka_dr.watch_results import WatchOutcome, watched_group


def known_now(status: GroupStatus, root: Any, now: datetime) -> GroupNow:
    """Return what is known of a group, with its situation.

    What was kept says what the registers do not: the copy, drills, questions, whether a failover could start. Without
    it the registers alone are judged.

    :param root: the evidence root, a path object
    :param now: UTC
    """
    try:
        kept = read_now(root, (status.group,), now)[status.group]
    except (KafkaDrError, OSError):
        nothing = group_now(watched_group(status.group, {}, now), (), (), now)
        kept = replace(nothing, facts=GroupFacts(status.group, now))
    facts = _with_registers(kept.facts, status)
    return replace(kept, facts=facts, judgement=judge(facts))


def _with_registers(kept: GroupFacts, status: GroupStatus) -> GroupFacts:
    """Return the facts with what was asked of the clusters in place of what was kept of them."""
    state, registers = status.state, status.registers
    silent = {each.cluster: kept.silent.get(each.cluster) for each in registers if each.answer == "silent"}
    heard = {each.cluster for each in registers if each.answer not in ("silent", "other_cluster")}
    others = [each.detail for each in registers if each.answer == "other_cluster"]
    contradiction = status.next_steps[:1] if status.outcome == "failed" and state is None and not status.flows else ()
    moving = next((each for each in status.running if each.continues(kept.at)), None)
    # Nobody who runs no scheduled checks has to read that none of them has looked.
    looked = any(each.outcome not in ("unknown", "left_alone") for each in kept.findings)
    watched = [each for each in kept.findings if looked and each.watch not in ("health", "flows")]
    found = replace(
        kept,
        adopted=state is not None or bool(silent),
        mistake=next(iter((*contradiction, *others)), ""),
        silent=silent,
        unheard={},
        answering={name: kept.answering.get(name) for name in heard},
        half_moved=_half_moved(status),
        moving=kept.moving or moving,
        ended=None,
        down=kept.down if silent else "",
        findings=(*_of_flows(status), *watched),
    )
    if state is None:
        return replace(found, phase="", held=False)
    return replace(
        found,
        phase=state.phase.value,
        active=state.active,
        standby=state.standbys_in_words,
        roles=state.roles_of_several,
        run=state.run,
        verb=state.verb,
        held=state.is_held,
        since=state.at,
    )


def _half_moved(status: GroupStatus) -> str:
    found = status.half_moved
    return found.detail if found is not None and found.outcome == "failed" else ""


def _of_flows(status: GroupStatus) -> Iterable[Finding]:
    """Yield what the flows from the active cluster to its standbys say; no other one runs."""
    state = status.state
    for each in status.flows:
        if state is not None and f".{state.active}-to-" in each.name:
            runs: WatchOutcome = "ok" if each.facts.get("state") == "running" else "failed"
            standby = each.name.rpartition(f".{state.active}-to-")[2]
            of = (standby,) if state.has_several else ()
            yield Finding("flows", runs if each.outcome == "ok" else "unknown", each.detail, standbys=of)

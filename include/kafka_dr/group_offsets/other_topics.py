"""Consumer groups that also read topics outside their protection group: what a failover would not move is named."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from kafka_dr.checks.authorizers import authorizer_of, not_by_acls
from kafka_dr.clusters import AclOperation, ResourceType
from kafka_dr.codec import ByNumber, StoredDocument
from kafka_dr.errors import KafkaDrError
from kafka_dr.group_offsets.committed_positions import groups_to_move
from kafka_dr.outcomes import Check, CheckOutcome
from kafka_dr.positions import Committed
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import first_few
from kafka_dr.runs.run import Run

NAME = "groups_read_only_owned_topics"
#: What a sentence names one by one; the facts hold all of it.
_MOST_NAMED = 5
#: How long a group may take to rebalance before what its members read counts as unknown.
_SETTLE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Elsewhere(StoredDocument):
    """A topic outside the protection group that one of its consumer groups reads.

    :param positions: what the group has committed there, next to read, by number of the partition
    :param live: whether members have it assigned, or have subscribed to it
    """

    group: str
    topic: str
    positions: ByNumber
    live: bool


def read_elsewhere(
    owns: Callable[[str], bool],
    committed: Committed,
    live: Mapping[str, Collection[str]],
) -> tuple[Elsewhere, ...]:
    """Return what groups read outside a protection group, by group and topic.

    :param owns: whether a topic belongs to the protection group
    :param committed: what groups have committed, next to read
    :param live: the topics that live members of groups read
    """
    found: dict[tuple[str, str], dict[int, int]] = {}
    for group, offsets in committed.items():
        for partition, offset in offsets.items():
            found.setdefault((group, partition.topic), {})[partition.partition] = offset
    for group, topics in live.items():
        for topic in topics:
            found.setdefault((group, topic), {})
    return tuple(
        Elsewhere(group, topic, positions, topic in live.get(group, ()))
        for (group, topic), positions in sorted(found.items())
        if not owns(topic)
    )


@dataclass(frozen=True, slots=True)
class ReadElsewhere:
    """What a protection group's consumer groups read outside it.

    :param unknown: of which groups that is not known, and why, a sentence each
    """

    rows: tuple[Elsewhere, ...]
    unknown: tuple[str, ...] = ()


def look(context: GroupContext, cluster: str, *, seconds: float = _SETTLE_SECONDS) -> ReadElsewhere:
    """Ask a cluster what the groups that would be moved have committed, and what their live members read.

    :param seconds: how long groups may take to rebalance
    """
    groups = groups_to_move(context, cluster)
    reading = context.operator(cluster).group_reading
    committed, live = reading.committed(groups), reading.live(groups, seconds=seconds)
    unknown = [f"{group}: {answer}" for group, answer in committed.items() if isinstance(answer, KafkaDrError)]
    unknown += [
        f"{group} is rebalancing, and the broker does not say meanwhile what its members read: try again"
        if not isinstance(answer, KafkaDrError)
        else f"{group}: {answer}"
        for group, answer in live.items()
        if isinstance(answer, KafkaDrError) or not answer.complete
    ]
    rows = read_elsewhere(
        _moved_from(context, cluster),
        {group: answer for group, answer in committed.items() if not isinstance(answer, KafkaDrError)},
        {group: answer.topics for group, answer in live.items() if not isinstance(answer, KafkaDrError)},
    )
    return ReadElsewhere(rows, (*dict.fromkeys(unknown), *_hidden(context, cluster)))


def read_live(run: Run, cluster: str) -> tuple[Elsewhere, ...]:
    """Return what live members read elsewhere right now, as far as the broker says.

    It was asked before the approval, and what is committed is asked again. So no run is stopped because this is not
    answered.
    """
    try:
        live = run.operator(cluster).group_reading.live(groups_to_move(run, cluster), seconds=0)
    except KafkaDrError:
        return ()
    told = {group: answer.topics for group, answer in live.items() if not isinstance(answer, KafkaDrError)}
    return read_elsewhere(_moved_from(run, cluster), {}, told)


def groups_read_only_owned_topics(run: Run) -> Check:
    """Answer for a preflight: does all that the groups read move with them?"""
    return judged(run, look(run, run.source), cluster=run.source)


def judged(context: GroupContext, found: ReadElsewhere, *, cluster: str) -> Check:
    """Return what the policy makes of what was found.

    :param cluster: where it was found
    """
    refuses = context.group.groups_policy.other_topics == "refuse"
    undecided = not_by_acls(context, (cluster,), "whether the operator sees every position there")
    outcome: CheckOutcome = "unknown" if found.unknown else "excused" if found.rows or undecided else "ok"
    if found.rows and refuses:
        outcome = "failed"
    parts = [sentence(context, found.rows, cluster=cluster)] if found.rows else []
    parts += [*first_few(found.unknown, _MOST_NAMED), *([undecided] if undecided else [])]
    said = "; ".join(parts) or f"all that the consumer groups read on {cluster} belongs to {context.group.name}"
    facts = {"read_elsewhere": evidence_rows(context, found.rows), "unknown": list(found.unknown)}
    return Check(NAME, outcome, said, facts)


def sentence(context: GroupContext, rows: Sequence[Elsewhere], *, cluster: str) -> str:
    """Say which groups read what outside the protection group, who owns it, and what follows from it."""
    name, owners = context.group.name, {row.topic: owner_of(context, row.topic) for row in rows}
    each = [f"{row.group} reads {row.topic} ({_how(row)}), {_whose(owners[row.topic])}" for row in rows]
    named = "; ".join(first_few(each, _MOST_NAMED))
    counted = f"{_positions(rows)} of {len({row.group for row in rows})} consumer groups are outside {name}"
    if context.group.groups_policy.other_topics == "leave_out":
        return (
            f"{counted} and are left out by policy, so they stay on {cluster}, where {name}'s groups may not commit "
            f"once it has moved, and elsewhere auto.offset.reset decides: {named}"
        )
    others = sorted(filter(None, set(owners.values())))
    todo = [f"make {', '.join([name, *others])} one protection group"] if others else []
    todo += [f"add to {name} the topics that belong to none"] if "" in owners.values() else []
    return (
        f"{counted} and would not be moved: {named}. {' and '.join(todo).capitalize()}, or read them with "
        "consumer groups of their own, or set groups_policy.other_topics to leave_out"
    )


def evidence_rows(context: GroupContext, rows: Collection[Elsewhere]) -> list[dict[str, Any]]:
    """Return rows for the evidence: with the protection group that each topic belongs to, empty if there is none."""
    return [{**row.to_json(), "belongs_to": owner_of(context, row.topic)} for row in rows]


def report_rows(run: Run, rows: Collection[Elsewhere]) -> list[dict[str, Any]]:
    """Return rows for the report of the offsets: how many positions, of which topic, and what the policy says."""
    state = "refused" if run.group.groups_policy.other_topics == "refuse" else "left_out"
    return [
        {
            "group": row.group,
            "topic": row.topic,
            "belongs_to": owner_of(run, row.topic),
            "positions": len(row.positions),
            "live_members": row.live,
            "state": state,
        }
        for row in rows
    ]


def left_out(run: Run, rows: Collection[Elsewhere]) -> dict[str, Any]:
    """Return what a run leaves out, counted, for its evidence and its report; nothing if it leaves nothing out."""
    if not rows:
        return {}
    return {"positions_left_out": sum(len(row.positions) for row in rows), "left_out": evidence_rows(run, rows)}


def decided(checks: Collection[Check]) -> dict[str, Any]:
    """Return, for the facts that are approved, which groups leave which topics out; nothing if none does."""
    rows = [row for check in checks if check.name == NAME for row in check.facts.get("read_elsewhere", ())]
    return {"leaves_out": sorted([row["group"], row["topic"]] for row in rows)} if rows else {}


def journaled(drained: Mapping[str, Any]) -> tuple[Elsewhere, ...]:
    """Return what frozen groups read elsewhere, as it was journaled."""
    return tuple(map(Elsewhere.from_json, drained["elsewhere"]))


def owner_of(context: GroupContext, topic: str) -> str:
    """Return the protection group to which a topic belongs; empty if it belongs to none."""
    declared = context.clients.topology.protection_groups
    return next((name for name, group in declared.items() if group.owns_topic(topic)), "")


def of_frozen(run: Run, committed: Committed, seen: Collection[Elsewhere]) -> tuple[Elsewhere, ...]:
    """Return what frozen groups read elsewhere: what they have committed by now, and what their members still read.

    :param seen: what was seen of them right before
    """
    live: dict[str, set[str]] = {}
    for row in seen:
        if row.live:
            live.setdefault(row.group, set()).add(row.topic)
    return read_elsewhere(_moved_from(run, run.source), committed, live)


def _moved_from(context: GroupContext, cluster: str) -> Callable[[str], bool]:
    """Return what says whether a failover from a cluster moves the positions in a topic."""
    return partial(context.group.moves_positions_in, cluster=cluster)


def _hidden(context: GroupContext, cluster: str) -> tuple[str, ...]:
    """Brokers leave out positions in topics that the operator may not describe, and do not say so."""
    if not context.decides_by_acls(cluster):
        return ()
    authorizer, operator = (
        authorizer_of(context, cluster, context.read_cache.acls(cluster)),
        context.group.operator_principal,
    )
    if authorizer.allows_everywhere(operator, AclOperation.DESCRIBE, ResourceType.TOPIC):
        return ()
    said = f"{operator} may not describe every topic on {cluster}, and positions in the others are kept from it"
    return (f"{said}: give it DESCRIBE on topic *",)


def _positions(rows: Collection[Elsewhere]) -> str:
    count = sum(len(row.positions) for row in rows)
    return f"{count} position{'' if count == 1 else 's'}"


def _how(row: Elsewhere) -> str:
    said = [_positions([row])] if row.positions else []
    return " and ".join([*said, *(["live members"] if row.live else [])])


def _whose(owner: str) -> str:
    return f"which belongs to the protection group {owner}" if owner else "which belongs to no protection group"

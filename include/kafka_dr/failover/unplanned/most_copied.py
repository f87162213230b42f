"""Which standby of a lost cluster holds most of its records: by position in its log, partition by partition.

One number would hide that two standbys each hold records that the other one lacks. What another standby holds more than
the target is fetched from there before the target is opened, as far as ``fetch_seconds`` permit; the rest stays there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from kafka_dr.clusters import TopicPartition
from kafka_dr.counted import counted
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError
from kafka_dr.register import RegisterState
from kafka_dr.replication.flow import Flow
from kafka_dr.runs import background
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.record import first_few

#: Next to copy on the lost cluster, by partition.
Copied = Mapping[TopicPartition, int]
#: How long the standbys may take to answer, in seconds.
_SECONDS = 4.0
#: How many partitions a sentence names.
_MOST_NAMED = 3


def copied_to(context: GroupContext, state: RegisterState) -> dict[str, Copied | KafkaDrError]:
    """Return how far each copy has come in the log of the active cluster, or why that is not known, by standby."""
    flows = {name: context.flow_between(state.active, name) for name in state.roles.copies}
    asked = {name: partial(_owned, context, flow) for name, flow in flows.items()}
    return background.answers_within(asked, seconds=_SECONDS)


def _owned(context: GroupContext, flow: Flow) -> Copied:
    found = context.clients.replicator(flow).committed()
    return {p: offset for p, offset in found.items() if context.group.owns_topic(p.topic)}


def more_than(target: str, copied: Mapping[str, Copied | KafkaDrError]) -> dict[str, dict[TopicPartition, int]]:
    """Return how many more offsets each other standby has copied than one of them, by partition. Pure."""
    mine = copied.get(target)
    if mine is None or isinstance(mine, KafkaDrError):
        return {}
    others = {name: each for name, each in copied.items() if name != target and not isinstance(each, KafkaDrError)}
    more = {
        name: {p: offset - mine.get(p, 0) for p, offset in sorted(each.items()) if offset > mine.get(p, 0)}
        for name, each in others.items()
    }
    return {name: found for name, found in more.items() if found}


def best(standbys: Collection[str], copied: Mapping[str, Copied | KafkaDrError]) -> str:
    """Return the standby that has most: it lacks records in the fewest partitions; of two such the first. Pure.

    One whose copy is not known is the last choice.

    :param standbys: at least one
    """

    def lacks_in(name: str) -> tuple[bool, int]:
        lacking = {p for found in more_than(name, copied).values() for p in found}
        return isinstance(copied.get(name), KafkaDrError) or name not in copied, len(lacking)

    return min(sorted(standbys), key=lacks_in)


def by_any(copied: Mapping[str, Copied | KafkaDrError]) -> dict[TopicPartition, int]:
    """Return how far the lost cluster was copied to any standby, by partition. Pure."""
    found: dict[TopicPartition, int] = {}
    for each in copied.values():
        if not isinstance(each, KafkaDrError):
            found |= {p: max(offset, found.get(p, 0)) for p, offset in each.items()}
    return found


def sentences(
    target: str, copied: Mapping[str, Copied | KafkaDrError], *, fetch_seconds: float, arrives_late: bool = False
) -> list[str]:
    """Say what other standbys hold more than the target, what becomes of it, and of which that is not known.

    :param fetch_seconds: how long it may be fetched; 0: it is not
    :param arrives_late: whether copies have names of their own: then the lost cluster delivers it once it is back
    """
    said = []
    for name, error in copied.items():
        if isinstance(error, KafkaDrError):
            said.append(f"it is not known how much {name} holds: {error}")
    for name, found in more_than(target, copied).items():
        rows = first_few([f"{n} of {p}" for p, n in found.items()], _MOST_NAMED)
        held = f"{name} holds up to {counted(sum(found.values()), 'record')} that {target} lacks ({', '.join(rows)})"
        left = (
            "it arrives late, once the lost cluster is back" if arrives_late else f"{name} is not copied from {target}"
        )
        stay = f"{held}: that stays there, and {left}"
        fetched = (
            f"{held}: that is fetched before {target} is opened, for at most {duration(fetch_seconds)}. What is not "
            f"fetched by then stays there, and then {left}"
        )
        said.append(fetched if fetch_seconds else stay)
    return said


def to_json(copied: Mapping[str, Copied | KafkaDrError]) -> dict[str, Any]:
    """Return how far each copy has come, as plain JSON; ``None`` where it is not known."""
    return {
        name: None if isinstance(each, KafkaDrError) else {str(p): offset for p, offset in sorted(each.items())}
        for name, each in copied.items()
    }

"""Up to when a hub holds everything that its spokes had, by the newest audit of each spoke's flow.

*Complete up to T* means: whatever a spoke had acknowledged when an audit asked it, at T, was found on the hub record by
record. Nothing is said about the times that records carry. A spoke that nobody writes to is complete up to its last
audit; one that is cut off stays where it was, because no audit of it ends well.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

from kafka_dr import parallel
from kafka_dr.audit.gate import GateAnswer
from kafka_dr.audit.result import AuditKind
from kafka_dr.checks.audit_checks import audit_of
from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext

#: An outdated audit still says what was complete then.
_SAYS_SO = frozenset({GateAnswer.GREEN, GateAnswer.WARNING, GateAnswer.TOO_OLD})


@dataclass(frozen=True, slots=True)
class SpokeOnHub:
    """What a hub holds of one spoke.

    :param at: up to when all of it, aware; ``None``: not known
    :param why: why not; empty if it is known
    """

    spoke: str
    at: datetime | None
    why: str = ""

    def sentence(self, hub: str) -> str:
        """Say it to a person."""
        if self.at is None:
            return f"{self.spoke}: not known to be complete on {hub}: {self.why}"
        return f"{self.spoke}: complete on {hub} up to {self.at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def all_complete(found: Collection[SpokeOnHub], wanted: datetime | None = None) -> datetime | None:
    """Return up to when a hub holds all of every spoke, in UTC; ``None`` if that is not known, or before a time.

    :param wanted: aware
    """
    times = [each.at for each in found if each.at is not None]
    if len(times) < len(found) or not times or (wanted is not None and min(times) < wanted):
        return None
    return min(times).astimezone(UTC)


def complete_up_to(block: str, hub: str, clients: Clients, topics: Collection[str] = ()) -> tuple[SpokeOnHub, ...]:
    """Look up what a hub holds of each of its spokes.

    :param topics: names of topics as the spokes have them; all topics of the applications if left out
    :raises Refused: there is no such block, hub or topic
    """
    declared = clients.topology.blocks.get(block)
    if declared is None or hub not in declared.holding:
        known = ", ".join(f"{name} ({', '.join(each.holding)})" for name, each in clients.topology.blocks.items())
        raise Refused(f"the topology declares no hub {hub!r} of {block!r}, expected one of: {known or 'there is none'}")
    spokes = [each for each in declared.groups if each not in declared.hubs and each != hub]
    canaries = declared.canary_topics
    group = clients.topology.group(declared.groups[hub])
    if missing := sorted(each for each in topics if each in canaries or not group.owns_topic(each)):
        raise Refused(f"{', '.join(missing)} is no topic of {block}: name topics as the spokes have them")
    wanted = frozenset(topics or (each for each in group.topics if each not in canaries))
    found = parallel.ask_each(
        lambda spoke: _of_spoke(
            Flow(declared.groups[spoke], spoke, hub), clients, wanted, () if topics else group.topic_prefixes
        ),
        spokes,
    )
    return tuple(
        SpokeOnHub(spoke, None, str(each)) if isinstance(each, KafkaDrError) else each for spoke, each in found.items()
    )


def _of_spoke(flow: Flow, clients: Clients, topics: frozenset[str], prefixes: tuple[str, ...]) -> SpokeOnHub:
    """Look up the same of one spoke.

    :param prefixes: what the names of further topics begin with: of these, all that audits have seen
    """
    state = GroupContext(flow.group, clients).read_register_state()
    history = clients.register(flow.target).history(flow.group)
    limits = clients.topology.group(flow.group).audits
    verdict = audit_of(flow, state, history, clients, AuditKind.CHECKSUM, limits)
    if verdict.answer not in _SAYS_SO or verdict.result is None:
        return SpokeOnHub(flow.source, None, verdict.sentence)
    known = verdict.result.complete
    wanted = topics | {each for each in known if each.startswith(prefixes)}
    lacking = sorted(wanted - known.keys())
    if lacking or not wanted:
        what = ", ".join(lacking[:3]) or "a topic"
        return SpokeOnHub(flow.source, None, f"no audit has seen {what} complete on {flow.target} yet")
    return SpokeOnHub(flow.source, min(known[each] for each in wanted))

"""A stopped consumer group of an adopted group begins elsewhere, as a person wants it: first a plan, then a record.

The record of what is about to be committed is in the evidence before anything is, so that a process that dies in
between leaves what a person needs to put the old offsets back.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_dr.counted import counted
from kafka_dr.errors import Refused
from kafka_dr.group_offsets.chosen_start import ChosenPosition, ChosenStart, choose
from kafka_dr.offsets.verify import not_read_back
from kafka_dr.outcomes import Check
from kafka_dr.positions import OffsetRange, TopicPartition, metadata_of
from kafka_dr.register import RegisterState
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.register_guard import LastingPermission, Unchanged
from kafka_dr.runs.sealing import seal_run

#: The steps of the evidence and their numbers, which are no steps of a verb.
PLANNED, SET = (93, "plan_offsets"), (94, "set_offsets")
#: What a group without members is in.
_STOPPED = ("EMPTY", "DEAD")


@dataclass(frozen=True, slots=True)
class OffsetsRequest:
    """What somebody wants.

    :param topics: every partition of these; of no topic and no partition: all topics in which it has committed
    :param by: who, as it was given
    """

    consumer_group: str
    chosen: ChosenStart
    topics: tuple[str, ...] = ()
    partitions: tuple[TopicPartition, ...] = ()
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class OffsetsPlan:
    """What would be committed.

    :param cluster: the active one
    :param drops_metadata: partitions whose commit metadata is dropped, because it belongs to another offset
    """

    cluster: str
    positions: tuple[ChosenPosition, ...]
    drops_metadata: tuple[TopicPartition, ...]
    state: RegisterState = field(compare=False)

    @property
    def changed(self) -> tuple[ChosenPosition, ...]:
        """The partitions in which something has to be committed."""
        return tuple(each for each in self.positions if each.changes)

    @property
    def again(self) -> int:
        """How many records the group reads again, at most."""
        return sum(each.again for each in self.positions)

    @property
    def skipped(self) -> int:
        """How many records that it has not read the group never reads, at most."""
        return sum(each.skipped for each in self.positions)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What has to be committed, as rows for evidence and for programs."""
        return [
            {
                "topic": each.partition.topic,
                "partition": each.partition.partition,
                "offset_before": each.committed,
                "offset": each.to,
                "class": "declared",
                "records_again_at_most": each.again,
                "records_skipped_at_most": each.skipped,
            }
            for each in self.changed
        ]


@dataclass(frozen=True, slots=True)
class OffsetsSetter:
    """Sets the offsets of one consumer group on the active cluster."""

    context: GroupContext
    request: OffsetsRequest

    def plan(self) -> OffsetsPlan:
        """Return what would be committed; nothing is changed.

        :raises Refused: the consumer group is not of this protection group, is running, has committed nothing, or a run
            holds the protection group
        :raises KafkaDrError: a register or the active cluster does not answer
        """
        state, name = self._state(), self.request.consumer_group
        if not self.context.group.owns_group(name):
            raise Refused(
                f"{name} is not a consumer group of {self.context.group.name}: its topology names them. Nothing was "
                "changed"
            )
        cluster = self.context.operator(state.active)
        found = cluster.groups.states([name])[name]
        if found.state not in _STOPPED:
            raise Refused(
                f"{name} runs on {state.active} ({counted(len(found.members), 'member')}): stop its "
                f"applications, then run this "
                "again. Nothing was changed"
            )
        committed = cluster.groups.offsets([name])[name]
        logs = self._logs(state, committed)
        positions = choose(self.request.chosen, logs, committed, at_time=self._at_time(state, logs))
        dropped = [each.partition for each in positions if each.changes and metadata_of(each.committed or 0)]
        return OffsetsPlan(state.active, positions, tuple(dropped), state)

    def set(self, plan: OffsetsPlan) -> str:
        """Commit the plan, read it back, and return the name under which the evidence is sealed.

        :raises Refused: the group moved, or its consumer group runs; the evidence says what was about to be committed
        :raises KafkaDrError: it could not be done, or read back: the evidence has the offsets from before
        """
        group, evidence = self.context.group.name, self.context.clients.evidence
        run = f"offsets__{self.context.clients.clock.now():%Y-%m-%dT%H:%M:%S%z}.{secrets.token_hex(4)}"
        guard = self.context.guard_by_all(Unchanged(plan.state))
        guard.require()
        evidence.write_once(group, run, *PLANNED, self._document(plan, "planned", "is about to begin at"))
        wanted = {self.request.consumer_group: {each.partition: each.to for each in plan.changed}}
        cluster = self.context.operator(plan.cluster)
        cluster.groups.set_offsets(wanted, before_each=LastingPermission(guard, self.context.clock).require)
        wrong = not_read_back(wanted, cluster.groups.offsets(wanted))
        many = counted(len(plan.changed), "offset")
        said = f"{wrong[0].partition}: {wrong[0].detail}" if wrong else f"{many} read back"
        proof = Check.that("offsets_read_back", not wrong, said)
        document = self._document(plan, "done" if proof.passes else "failed", "begins at", proof)
        evidence.write_once(group, run, *SET, document)
        seal_run(self.context.clients, group, run)
        if not proof.passes:
            raise Refused(
                f"{self.request.consumer_group} has other offsets than were committed a moment ago ({proof.detail}): "
                "find out who else commits them. The evidence has the offsets from before"
            )
        return run

    def _state(self) -> RegisterState:
        state = self.context.read_register_state()
        if state is None:
            raise Refused(f"{self.context.group.name} is not adopted: set the offsets with Kafka's own tools")
        if state.is_held:
            raise Refused(
                f"{state.run} holds {state.group}, and may set these offsets: let it end, then run this again. Nothing "
                "was changed"
            )
        return state

    def _logs(self, state: RegisterState, committed: Collection[TopicPartition]) -> dict[TopicPartition, OffsetRange]:
        """Return the partitions that are meant, with their first offset and the one after their last."""
        cluster, request, group = self.context.operator(state.active), self.request, self.context.group
        topics = {*request.topics, *(p.topic for p in request.partitions)} or {p.topic for p in committed}
        if not topics:
            raise Refused(
                f"{request.consumer_group} has committed nothing on {state.active}: name its topics with --topic. "
                "Nothing was changed"
            )
        if foreign := sorted(name for name in topics if not group.owns_topic(name)):
            raise Refused(
                f"{', '.join(foreign)} is not of {group.name}: name topics of it with --topic. Nothing was changed"
            )
        there = cluster.topics.partitions(topics.__contains__)
        missing = [*sorted(topics - {p.topic for p in there}), *map(str, sorted({*request.partitions} - {*there}))]
        if missing:
            raise Refused(f"{missing[0]} does not exist on {state.active}. Nothing was changed")
        named = bool(request.topics or request.partitions)
        partitions = [p for p in there if not named or p.topic in request.topics or p in request.partitions]
        starts, ends = cluster.topics.log_starts(partitions), cluster.topics.high_watermarks(partitions)
        return {p: OffsetRange(starts[p], max(starts[p], ends[p])) for p in partitions}

    def _at_time(
        self, state: RegisterState, logs: Mapping[TopicPartition, OffsetRange]
    ) -> dict[TopicPartition, int | None]:
        chosen = self.request.chosen
        if chosen.kind != "time":
            return {}
        return self.context.operator(state.active).offsets_by_time.at(logs, chosen.value or 0)

    def _document(self, plan: OffsetsPlan, outcome: str, verb: str, *proofs: Check) -> dict[str, Any]:
        request, at = self.request, self.context.clients.clock.now().isoformat()
        facts = {
            **{"cluster": plan.cluster, "consumer_group": request.consumer_group, "asked_by": request.by},
            **{"reason": request.reason, "positions": plan.rows},
        }
        said = f"{request.consumer_group} {verb} {request.chosen} on {plan.cluster}, as {request.by} asked"
        checks = [{"name": each.name, "outcome": each.outcome, "detail": each.detail} for each in proofs]
        return {
            **{"outcome": outcome, "started_at": at, "finished_at": at, "detail": said},
            **{"facts": facts, "proofs": checks},
        }

"""The steps of a way out by hand, in order: what each one changes is known to those after it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby

from kafka_dr.clusters.model import Acl
from kafka_dr.clusters.tool_access import ToolAccess
from kafka_dr.command_line import kafka_tools as tools
from kafka_dr.command_line.by_hand_facts import ByHandFacts
from kafka_dr.command_line.by_hand_files import access
from kafka_dr.durations import duration
from kafka_dr.fencing import plan
from kafka_dr.fencing.closure import found_in
from kafka_dr.positions import metadata_of
from kafka_dr.register import RegisterState
from kafka_dr.register.abandonment import LEFT_WITH_COPIES
from kafka_dr.register.added_acls import AddedAcls
from kafka_dr.register.flow_seed import FLOW_SEED
from kafka_dr.register.records import fence_records, group_key, run_prefix
from kafka_dr.replication.flow import Flow
from kafka_dr.routing import Route
from kafka_dr.runs.retention_hold import NOTHING_EXPIRES

#: How far before now a consumer group resumes whose offsets nobody knows; a person changes it.
_SINCE = timedelta(minutes=15)
#: Brokers learn of ACLs one after the other, in less than this.
_WAIT = "sleep 3"
#: The shell variable that keeps where the copies end, under the names of their originals.
_COPIED = "COPIED"
#: So many consumer groups are set by one command.
_GROUPS_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class HandStep:
    """One step and its commands, in order.

    :param only_if: the cluster that has to answer; without it the step is left out
    :param files: what the commands read, by name
    """

    title: str
    commands: tuple[str, ...]
    only_if: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


class HandSteps:
    """Makes the steps of one way out.

    :param after: the record that the group is to have
    :param standby: the one that the way out concerns
    """

    def __init__(self, facts: ByHandFacts, after: RegisterState, standby: str) -> None:
        self._facts = facts
        self._standby = standby
        self._flow = Flow(facts.group.flow_group(facts.state.active), facts.state.active, standby)
        self._group = facts.group
        #: What the names of the copies that the flow makes begin with, if that is not how those of originals do.
        self._mark = facts.group.copies_begin.get(self._flow.source, "")
        self._flow_fence = plan.fence_of_flow(facts.group, self._flow.source, self._flow.target)
        self._after = after
        self._added: dict[str, AddedAcls] = {}

    def fence(self, cluster: str) -> HandStep:
        """Return the step that keeps applications out of a cluster, and shows that it does."""
        if not self._group.closes(cluster):
            if not (frozen := plan.standby(self._group.on(cluster))):
                return HandStep(f"nothing: {cluster} serves its own clients, and stays open", (), cluster)
            title = f"keep {self._moving} from reading on {cluster}, which stays open for its own clients"
            return HandStep(title, self._add(cluster, frozen), cluster)
        sample = self._facts.sample(cluster)
        shown = tools.write_refused(access(self._facts.servers, cluster, "probe"), *sample)
        title = (
            f"keep the applications out of {cluster}. The last command has to show TopicAuthorizationException; if it "
            "shows nothing, repeat it. Continue only when it has shown it"
        )
        return HandStep(title, (*self._add(cluster, plan.standby(self._group.on(cluster))), _WAIT, shown), cluster)

    @property
    def _moving(self) -> str:
        return " and ".join((*self._group.consumer_groups, *self._group.consumer_group_prefixes))

    def keep_records(self, cluster: str) -> HandStep:
        """Return the step after which nothing expires on a cluster, and nothing is compacted away."""
        reached, kept = access(self._facts.servers, cluster), f"topics-of-{cluster}.txt"
        title = (
            f"keep what only {cluster} holds: let its brokers delete nothing and compact nothing. {kept} shows what "
            "the topics had set before; after the failback dr_config_sync says what differs, and you set it again"
        )
        topics, prefixes = self._group.literal_topics, self._group.topic_prefixes
        return HandStep(title, tools.change_topics(reached, topics, prefixes, NOTHING_EXPIRES, kept=kept), cluster)

    def open(self, cluster: str) -> HandStep:
        """Return the step that lets the applications in, and shows that it does."""
        if not self._group.closes(cluster):
            if not (frozen := plan.standby(self._group.on(cluster))):
                return HandStep(f"nothing: {cluster} serves its own clients, and is open", (), cluster)
            return HandStep(f"let {self._moving} read on {cluster}", self._lift(cluster, frozen))
        sample = self._facts.sample(cluster)
        shown = tools.write_permitted(access(self._facts.servers, cluster, "probe"), *sample)
        # What keeps them from working first: each second counts.
        group = self._group.on(cluster)
        work, changes = plan.work_denies(group), plan.change_fence(group)
        title = (
            f"let the applications in on {cluster}. The last command has to show RecordTooLargeException, which means "
            "that a write is permitted: its record is too large, and is never kept"
        )
        commands = (*self._lift(cluster, work), *self._lift(cluster, changes), _WAIT, shown)
        return HandStep(title, commands)

    def let_in(self, cluster: str) -> Iterator[HandStep]:
        """Return the steps that send the applications to a cluster: readers first, where they have to read copies."""
        longest = self._group.flow.writes_wait_seconds
        if not longest or not self._facts.groups:
            yield self.open(cluster)
            yield self.route()
            return
        group, reached = self._group.on(cluster), access(self._facts.servers, cluster)
        title = f"let the applications read on {cluster}, and not write yet"
        yield HandStep(title, self._lift(cluster, plan.work_denies(group) - plan.topic_writes(group)))
        yield self.route()
        begins = " or ".join(mark for name, mark in group.copies_begin.items() if name != cluster)
        title = (
            f"wait until the consumer groups have read the copies on {cluster}, at most {duration(longest)}: "
            f"repeat the command until each topic that begins with {begins} has a LAG of 0, or 1, which may be a "
            "transaction marker. Where applications write earlier, records of a key may be read out of order"
        )
        file = "groups-that-read.txt"
        shown = tools.positions_of_groups(reached, file)
        yield HandStep(title, (shown,), files={file: tools.options_file(self._facts.groups)})
        yield self.open(cluster)

    def wait_for_copy(self) -> HandStep:
        """Return the step that waits until everything is copied."""
        state, flow = self._facts.state, self._flow
        source = access(self._facts.servers, state.active)
        copied = f"{self._facts.flows[flow.target].positions(flow)} > copied.txt"
        title = (
            "wait until everything is copied. The first command shows transactions that have not ended; repeat it "
            "until it shows none: they end by themselves, after 15 minutes at the latest if the brokers have "
            "Kafka's usual limit. Then repeat the others until the last one shows nothing, or only partitions with a "
            "few offsets left that no longer change: those are transaction markers"
        )
        ends = f"{tools.log_ends(source, self._group.literal_topics, self._group.topic_prefixes)} > ends.txt"
        return HandStep(title, (tools.open_transactions(source), copied, ends, tools.LEFT_TO_COPY), state.active)

    def stop_flow(self) -> HandStep:
        """Return the step that stops the flow, and keeps where the copy ends."""
        target, flow, group = access(self._facts.servers, self._standby), self._flow, self._group
        topics, prefixes = (
            (*names, *group.copies_of(names, self._standby)) for names in (group.literal_topics, group.topic_prefixes)
        )
        kept = [tools.keep_ends(target, topics, prefixes)]
        if mark := self._mark:
            copied, begins = ([name for name in names if name.startswith(mark)] for names in (topics, prefixes))
            kept.append(tools.keep_ends(target, copied, begins, _COPIED, without=mark))
        commands = (
            *self._add(self._standby, self._flow_fence),
            self._facts.flows[flow.target].stop(flow),
            _WAIT,
            *kept,
        )
        named = f"ENDS and {_COPIED} keep" if self._mark else "ENDS keeps"
        title = f"stop the flow to {self._standby}; the DENYs are enough. {named} where its topics end: keep this shell"
        return HandStep(title, commands)

    def start_flow(self) -> HandStep:
        """Return the step that lets the flow write to the target again."""
        commands = (
            *self._lift(self._standby, self._flow_fence),
            self._facts.flows[self._standby].resume(self._flow),
        )
        return HandStep(f"start the flow to {self._standby} again", commands, self._standby)

    def set_offsets(self, now: datetime) -> Iterator[HandStep]:
        """Return the steps that set where consumer groups resume on the target."""
        target = self._standby
        translated = self._facts.translated
        others = {name: topics for name, topics in self._facts.groups.items() if name not in translated and topics}
        said = (
            "Groups must have no members. Each line of the answer is one partition with its new offset; repeat the "
            "command after an Error"
        )
        texts = sorted(name for name, offsets in translated.items() if any(map(metadata_of, offsets.values())))
        if texts:
            said += (
                ". Kafka's tool sets no commit metadata: what these groups keep there is lost, so say to their owners "
                f"that what it says was done is done again ({', '.join(texts)})"
            )
        for number, names in enumerate(_parts(sorted(translated)), 1):
            options, rows = f"groups-{number}.txt", f"offsets-{number}.csv"
            yield HandStep(
                f"set the offsets of {len(names)} consumer groups as the run translated them. {said}",
                (tools.reset_from_file(access(self._facts.servers, target), options, rows),),
                files={
                    options: tools.options_file(names),
                    rows: tools.offsets_file({name: translated[name] for name in names}),
                },
            )
        if others:
            yield HandStep(
                "decide from when on (UTC) the other consumer groups read again: before the oldest record that one of "
                "them had not processed, or it is skipped. What they had processed since then, they process again",
                (f"SINCE={(now - _SINCE):%Y-%m-%dT%H:%M:%S.000}",),
            )
        number = 0
        for topics, same in groupby(sorted(others, key=lambda name: (sorted(others[name]), name)), others.__getitem__):
            for names in _parts(list(same)):
                number += 1
                options, read = f"groups-by-time-{number}.txt", (*topics, *self._group.copies_of(topics, target))
                yield HandStep(
                    f"let {len(names)} consumer groups resume at that time. {said}",
                    (tools.reset_to_time(access(self._facts.servers, target), options),),
                    files={options: tools.options_file(names, read)},
                )

    def hand_over(self) -> HandStep:
        """Return the step that writes to the target's register what a failback needs, and then who is active."""
        after = self._after
        target, prefix = access(self._facts.servers, after.active), run_prefix(after.group, after.run).decode()
        commands = (
            tools.write_ends(target, f"{prefix}target_ends"),
            self._left(target, prefix),
            *self.record(after.active).commands,
        )
        title = f"THE POINT OF NO RETURN: write to the register of {after.active} that it is active"
        return HandStep(f"{title}. The last command has to show that", commands)

    def _left(self, target: ToolAccess, prefix: str) -> str:
        """Return the command that journals what a failback needs to know of the cluster that is left."""
        after = self._after
        if self._mark:
            left = {"epoch": after.epoch, "old": after.moved_with, "new": after.active}
            fact, field, variable = LEFT_WITH_COPIES, "new_ends", _COPIED
        else:
            left = {"epoch": after.epoch, "source": after.active, "target": after.moved_with, "held": True}
            left |= {"target_positions": []}
            fact, field, variable = FLOW_SEED, "source_positions", "ENDS"
        return tools.write_fact_with(target, prefix + fact, json.dumps(left).removesuffix("}"), field, variable)

    def record(self, cluster: str) -> HandStep:
        """Return the step that writes to a register who is active."""
        reached, key = access(self._facts.servers, cluster), group_key(self._after.group)
        written = tools.write_register(reached, [(key, self._after.to_json())])
        title = (
            f"write to the register of {cluster} that {self._after.active} is active; the last command has to show that"
        )
        return HandStep(title, (*written, tools.read_register(reached, f"{key.decode()}\t")), cluster)

    def route(self) -> HandStep:
        """Return the step that sends the applications to the active cluster."""
        after = self._after
        route = Route(after.group, after.active, self._facts.route_servers[after.active], after.epoch, after.at)
        commands, title = self._facts.router.by_hand(route), f"send the applications to {after.active}"
        if not commands:
            title += f": ask whoever keeps their route to let it lead to {route.bootstrap_servers}"
        return HandStep(title, commands)

    def look(self) -> HandStep:
        """Return the step that shows what the register says now."""
        reached, key = access(self._facts.servers, self._after.active), group_key(self._after.group)
        title = f"look: the register names {self._after.active} as active, with the epoch {self._after.epoch}"
        return HandStep(title, (tools.read_register(reached, f"{key.decode()}\t"),))

    def check(self) -> HandStep:
        """Return the step for later: whether everything agrees."""
        command = f"python -m kafka_dr status --group {shlex.quote(self._group.name)}"
        return HandStep(
            f"as soon as a program of this project runs again, see whether everything agrees: {command}", ()
        )

    def _known(self, cluster: str) -> AddedAcls:
        return self._added.get(cluster, self._facts.added(cluster))

    def _add(self, cluster: str, denies: Collection[Acl]) -> tuple[str, ...]:
        # First the record: only what is recorded is ever lifted again. What others added is there already, and theirs.
        ours = frozenset(denies) - self._facts.foreign(cluster)
        self._added[cluster] = self._known(cluster).after(lambda found: found.adding(ours, epoch=self._after.epoch))
        reached = access(self._facts.servers, cluster)
        recorded = tools.write_register(reached, fence_records(self._group.name, cluster, self._added[cluster]))
        if where := self._facts.kept_in.get(cluster):
            return (*recorded, *tools.changed_by_owners(where, ours, adding=True))
        return (*recorded, *tools.add_denies(reached, ours))

    def _lift(self, cluster: str, denies: Collection[Acl]) -> tuple[str, ...]:
        """Return the commands that lift DENYs of this project."""
        gone = found_in(self._known(cluster).current, denies)
        self._added[cluster] = self._known(cluster).lifting(gone, epoch=self._after.epoch)
        reached = access(self._facts.servers, cluster)
        recorded = tools.write_register(reached, fence_records(self._group.name, cluster, self._added[cluster]))
        if where := self._facts.kept_in.get(cluster):
            return (*tools.changed_by_owners(where, gone, adding=False), *recorded)
        return (*tools.remove_denies(reached, gone), *recorded)


def _parts(names: list[str]) -> Iterator[list[str]]:
    for begin in range(0, len(names), _GROUPS_AT_ONCE):
        yield names[begin : begin + _GROUPS_AT_ONCE]

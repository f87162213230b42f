"""One run of a verb: its request, its source and target, the record it found, and what it has journaled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, TypeVar

from kafka_dr import parallel
from kafka_dr.audit.recorded_input import RecordedInput, inputs_of
from kafka_dr.causes import cause
from kafka_dr.clusters import Acl
from kafka_dr.errors import KafkaDrError, NeedsPerson, Refused
from kafka_dr.fencing.change import AclChanges
from kafka_dr.fencing.closure import whole
from kafka_dr.outcomes import Check, Probe
from kafka_dr.register import Phase, RegisterState, Verb, arbiter
from kafka_dr.register.flow_seed import FlowSeed, journaled_seeds
from kafka_dr.register.holding import Author, HeldBy
from kafka_dr.register.roles import Roles
from kafka_dr.register.transitions import way_out
from kafka_dr.replication.flow import Flow
from kafka_dr.runs import inputs
from kafka_dr.runs.background import BackgroundCall, Silent
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.recorded_files import (
    KnownFiles,
    UnrecordedFile,
    known_files,
    unrecorded_files,
    with_recorded_only,
)
from kafka_dr.runs.recorded_inputs import UnrecordedInput, newest_records, unrecorded, without
from kafka_dr.runs.register_guard import RegisterGuard
from kafka_dr.runs.register_read import OTHERS_SECONDS, Waiting, require_declared
from kafka_dr.runs.request import STAY, VERBS, RunRequest
from kafka_dr.runs.source_policy import policy_of
from kafka_dr.storage.deadline_path import DeadlinePath
from kafka_dr.topology.model import ProtectionGroup

T = TypeVar("T")


class Run(GroupContext):
    """The facts of one run that every step needs.

    :param request: what was asked for
    :param clients: reach the clusters
    """

    def __init__(self, request: RunRequest, clients: Clients) -> None:
        super().__init__(request.protection_group, clients)
        self.request = request
        #: When this step began, in seconds of the monotonic clock.
        self.began = clients.clock.monotonic()
        #: What the checks of this step answered; set before it acts.
        self.checks: tuple[Check, ...] = ()
        #: What each register that answered held, by cluster, when an unplanned failover asked for its standing.
        self.seen: Mapping[str, RegisterState | None] = {}
        #: What the probes of this step saw of a source that may be down.
        self.probes: tuple[Probe, ...] = ()
        self._histories: dict[str, Mapping[str, Mapping[str, Any]]] = {}
        #: What this run does differently if its source may be dead.
        self.source_policy = policy_of(request.verb)
        hurried = self.source_policy.short_timeouts(
            self.declared.clusters, source=request.source, target=request.target
        )
        if request.verb == "unplanned_failover" and request.override:
            # The checks name these records, and the override that is approved covers them.
            clients.ignore_foreign_records()
        #: The clusters whose identity must be verified before any read or write.
        self.doubted = frozenset(hurried)
        for cluster in hurried:
            clients.hurry(cluster, OTHERS_SECONDS)

    @property
    def group(self) -> ProtectionGroup:
        """The group, with the start that the requester chose for its consumer groups."""
        found = super().group
        if (at := self.request.begin_at) is None:
            return found
        policy = found.groups_policy.beginning(at, self.request.begin_positions)
        return found.model_copy(update={"groups_policy": policy})

    @cached_property
    def register_state(self) -> RegisterState | None:
        """The highest record that the registers held when this step began, then as the step took or advanced it."""
        return self.read_register_state()

    def each_cluster(
        self, ask: Callable[[str], T], *, further_seconds: float = OTHERS_SECONDS
    ) -> dict[str, T | KafkaDrError]:
        """Ask every cluster of the group at the same time; an error replaces an answer.

        :param further_seconds: how long a further standby gets, which the run does not concern: applications wait for
            the run
        """
        ends = {self.request.source, self.request.target}
        further = [name for name in self.declared.clusters if None not in ends and name not in ends]
        if not further:
            return super().each_cluster(ask)
        silent = self.clients.silent_clusters
        asked: dict[str, BackgroundCall[T]] = {
            name: silent.ask(name, f"a question to {name}", partial(ask, name)) for name in further
        }
        found = parallel.ask_each(ask, [name for name in self.declared.clusters if name in ends])
        for name, question in asked.items():
            try:
                found[name] = question.within(silent.seconds(name, further_seconds))
            except KafkaDrError as error:
                if isinstance(error, Silent) and further_seconds:
                    silent.give_up(name)
                found[name] = error
        return found

    @property
    def epoch(self) -> int:
        """The epoch of that record; 0 where there is none, which no group has."""
        return self.register_state.epoch if self.register_state else 0

    @cached_property
    def source(self) -> str:
        """Where the group was active before this run."""
        return self._ends()[0]

    @cached_property
    def target(self) -> str:
        """Where this run takes the group."""
        return self._ends()[1]

    @property
    def further_standbys(self) -> tuple[str, ...]:
        """The standbys of several that the run does not concern by name."""
        state = self.register_state
        ends = (self.source, self.target)
        return tuple(name for name in (state.standbys if state else ()) if name not in ends)

    @property
    def arbiter(self) -> str:
        """The cluster whose register holds every fact of this run."""
        return self.source_policy.keeps_journal(source=self.source, target=self.target)

    @property
    def flow(self) -> Flow:
        """Replication from source to target."""
        return self.flow_between(self.source, self.target)

    @property
    def flow_back(self) -> Flow:
        """Replication from target to source."""
        return self.flow_between(self.target, self.source)

    def read_register_state(self, *, others_seconds: float = OTHERS_SECONDS) -> RegisterState | None:
        """Read the registers of the group's clusters at once and return the highest record.

        :param others_seconds: how long a cluster that may be dead is waited for; 0 for what only depends on the
            register that decides
        :raises NeedsPerson: the records contradict each other, or the one that decides cannot be read, or the topology
            lacks a cluster that it names
        """

        def read(cluster: str) -> RegisterState | None:
            self._recognise(cluster)
            return self.clients.register(cluster).read(self.declared.name)

        found = self.source_policy.read_registers(
            self.declared.name,
            self.declared.clusters,
            read,
            self.each_cluster,
            run=self.request.run,
            target=self.request.target,
            waiting=Waiting(self.clients.silent_clusters, others_seconds),
            override=self.request.override,
        )
        self.silent, self.seen = found.silent, found.seen
        return require_declared(found.state, self.declared.clusters, self.declared.copies_named)

    def take(self, *, at: str | None = None) -> RegisterState:
        """Take the run for this process, unless it has it: from now on no other process of the run changes anything.

        :param at: the cluster whose register decides; as the record says where ``None``
        :returns: the record that holds now
        :raises Refused: another process takes the run, or took it since; or its claim has not won yet
        """
        state = self.record()
        if state.is_unproven:
            raise Refused(
                f"it is not known that more than half of the registers of {state.group} hold the claim of run "
                f"{state.run}: run its step claim again, or abandon the run"
            )
        register = self.clients.register(at or arbiter(state))
        self.register_state = self.clients.executor.take(state, register, self.clock.now)
        return self.register_state

    @property
    def override(self) -> str:
        """Why the source is given up although the rule does not hold, as asked for, or as approved before the claim."""
        return self.request.override or str(self.journal.get("claim", {}).get("override", ""))

    def advance(self, new: RegisterState) -> RegisterState:
        """Compare and set the register that decides, and return the new record, which this step knows from then on.

        :raises RegisterConflict: it does not hold the record that this step knows; another process was first
        """
        known = self.record()
        self.clients.register(arbiter(known)).compare_and_set(known, new)
        self.clients.executor.remember(new)
        self.register_state = new
        return new

    def holding(self, phase: Phase, verb: Verb | None = None) -> HeldBy:
        """Return what the deciding register has to say: this process holds the group for the run, in a phase.

        :param verb: which procedure has to hold it; any where ``None``
        """
        state = self.register_state
        epoch, attempt = (state.epoch, state.attempt) if state else (-1, 0)
        return HeldBy(self.request.run, epoch, phase, attempt, verb)

    def guard(self, phase: Phase) -> RegisterGuard:
        """Return what is asked right before each change: does this run still hold the group?

        :param phase: the phase that the deciding register has to show
        """
        decides = self.source_policy.decides(phase, source=self.source, target=self.target)
        return self.guard_by(decides, self.holding(phase))

    def changes_at_source(self, guard: RegisterGuard) -> AclChanges:
        """Return what changes the group's ACLs on the source, whose register the run may do without.

        :param guard: asked right before each change
        """
        keeps = self.source_policy.keeps_journal(source=self.source, target=self.target)
        return self.acl_changes(self.source, guard, kept_by=keeps)

    @property
    def closes_source(self) -> bool:
        """Whether the source is closed by DENYs of every operation, as soon as applications need nothing of it."""
        state = self.register_state
        return state is not None and state.denies_all and self.may_deny_all(self.source)

    def closed(self, denies: frozenset[Acl]) -> frozenset[Acl]:
        """Return what is added to the source for DENYs that stay until it is opened: themselves, or what covers them.

        :param denies: all that is denied on these resources from here on
        """
        return whole(denies) if self.closes_source else denies

    def write_fact(self, fact: str, payload: Mapping[str, Any], *, needed_on: Collection[str] | None = None) -> None:
        """Journal a fact on source and target, first in the register that decides.

        :param needed_on: the clusters whose registers must take it; both where ``None``. Of an unplanned failover
            it is always the target's alone
        :raises Refused: another process holds the run now, or the fact is final
        :raises KafkaDrError: one of those did not take it
        """
        state, decides = self.record(), self._decides()
        holds = state.run == self.request.run

        def write(cluster: str) -> None:
            self._recognise(cluster)
            author = Author(self.request.run, state.epoch, state.attempt, holds=holds and cluster == decides)
            register = self.clients.register(cluster)
            register.write_fact(self.group.name, self.request.run, fact, payload, by=author)

        self.source_policy.write_fact(
            write,
            # No step needs the fact in the register of a further standby.
            partial(self.each_cluster, further_seconds=0),
            source=self.source,
            target=self.target,
            decides=decides,
            needed_on=needed_on,
        )
        if self.source_policy.sees_own_facts:
            self.__dict__.get("journal", {})[fact] = dict(payload)

    def _recognise(self, cluster: str) -> None:
        if cluster in self.doubted:
            self.clients.require_declared(cluster)

    @cached_property
    def journal(self) -> dict[str, Any]:
        """What earlier steps of this run journaled, as it was when this step began."""

        def read(cluster: str) -> dict[str, Any]:
            return self.clients.register(cluster).facts(self.group.name, self.request.run)

        return self.source_policy.read_facts(read, self.each_cluster, target=self.target, decides=self._decides())

    @cached_property
    def evidence_root(self) -> DeadlinePath:
        """What this run relies on of the evidence: since its claim, as it was before it."""
        fact = self.journal.get(inputs.INPUTS)
        if fact is not None:
            copy = inputs.copy_folder(self.group.name, self.request.run)
            return inputs.with_inputs(self.clients.evidence_root, fact, copy=copy)
        root = with_recorded_only(self.clients.evidence_root, self._known_files)
        # A storage that refuses now refuses whoever reads them, too.
        with suppress(OSError):
            return without(root, self.unrecorded_inputs)
        return root

    @cached_property
    def unrecorded_inputs(self) -> tuple[UnrecordedInput, ...]:
        """What others have written of what this run would rely on; such files are not read.

        :raises OSError: the storage refuses
        """
        return unrecorded(self.clients.evidence_root, self._records_of_inputs, self._recorded_inputs())

    @cached_property
    def unrecorded_files(self) -> tuple[UnrecordedFile, ...]:
        """The last looks, offset pairs and archived syncs without a digest in the register; they are not read.

        :raises OSError: the storage refuses
        """
        return unrecorded_files(self.clients.evidence_root, self._folders_of_inputs, self._known_files)

    @cached_property
    def _known_files(self) -> KnownFiles:
        return known_files(self.clients, self.target)

    @property
    def records_inputs(self) -> tuple[str, ...]:
        """The clusters whose registers this run asks for the digests of inputs, and writes them to.

        Either may decide the next run. A source that may be dead is not waited for.
        """
        alone = self.silent or self.request.verb == "unplanned_failover"
        return (self.arbiter,) if alone else (self.arbiter, *({self.source, self.target} - {self.arbiter}))

    @property
    def _folders_of_inputs(self) -> tuple[str, ...]:
        ends = (self.source, self.target)
        third = () if self.opens_copy else (name for name in self.declared.origins if name not in ends)
        return inputs.folders_of(self.declared.name, ends, third=third)

    def _records_of_inputs(self) -> dict[str, Mapping[str, Any]]:
        return newest_records(self.clients.register, self.group.name, self.records_inputs)

    def _recorded_inputs(self) -> tuple[RecordedInput, ...]:
        ends = (self.source, self.target)
        return inputs_of(self.group.name, (f"{begin}-to-{end}" for begin, end in (ends, ends[::-1])))

    def read_inputs(self) -> dict[str, Any]:
        """Return, as a fact, what this run is going to rely on of the evidence; read once, before the claim.

        :raises Refused: the storage does not answer
        """
        if inputs.INPUTS in self.journal:
            return dict(self.journal[inputs.INPUTS])
        copy = inputs.copy_folder(self.group.name, self.request.run)
        try:
            root = with_recorded_only(self.clients.evidence_root, self._known_files)
            found = inputs.read_inputs(root, self._folders_of_inputs, copy=copy)
            seen = inputs.with_inputs(self.clients.evidence_root, found.to_json(), copy=copy)
            forged = unrecorded(seen, self._records_of_inputs, self._recorded_inputs())
            found = found.without(lambda path: any(each.what.covers(path) for each in forged))
        except OSError as error:
            raise Refused(
                f"what this run needs of the evidence cannot be read ({cause(error)}), and nothing was changed. To "
                "continue without this storage, name another evidence.root in the topology (a folder that every worker "
                "reaches is enough), and trigger a new run"
            ) from error
        return found.to_json()

    @cached_property
    def history(self) -> dict[str, Mapping[str, Any]]:
        """Everything journaled about the group by any run, as the register held it when first asked.

        It is read from the register that holds every fact of this run.
        """
        return self.clients.register(self.arbiter).history(self.group.name)

    def history_of_flows(self, source: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the same about the group to which the flows from a cluster belong."""
        group = self.declared.flow_group(source)
        if group == self.declared.name:
            return self.history
        if group not in self._histories:
            self._histories[group] = self.clients.register(self.arbiter).history(group)
        return self._histories[group]

    @cached_property
    def seeds(self) -> dict[str, FlowSeed]:
        """Every seed that was journaled about the group, by the run that journaled it, as ``history`` holds it."""
        return journaled_seeds(self.history)

    def fact(self, name: str) -> Any:
        """Return a journaled fact.

        :raises NeedsPerson: no register that answered holds it
        """
        if name not in self.journal:
            said = f"the journal of run {self.request.run} holds no {name}: the step that writes it has to run first"
            raise NeedsPerson(said)
        return self.journal[name]

    def own_facts(self) -> Mapping[str, Any]:
        """Return the journal as the register that decides holds it now, with what this step has just written."""
        return self.clients.register(self._decides()).facts(self.group.name, self.request.run)

    def own_fact(self, name: str) -> Any:
        """Return a fact of :meth:`own_facts`.

        :raises NeedsPerson: that register does not hold it
        """
        if (fact := self.own_facts().get(name)) is None:
            raise NeedsPerson(f"the journal of run {self.request.run} holds no {name}: run the step again")
        return fact

    def record(self) -> RegisterState:
        """Return the register's record, for a step that cannot be reached without one.

        :raises NeedsPerson: no register has one any more
        """
        if self.register_state is None:
            raise NeedsPerson(
                f"no register has a record of {self.group.name} any more: compare the registers of both clusters"
            )
        return self.register_state

    def _decides(self) -> str:
        """Return the cluster whose register decides now; before the claim, the one that the run will ask."""
        state = self.register_state
        if state is not None and state.run == self.request.run:
            return arbiter(state)
        return self.source_policy.keeps_journal(source=self.source, target=self.target)

    def _ends(self) -> tuple[str, str]:
        state = self.register_state
        if state is None or not state.is_adopted:
            return self._ends_before_adoption(state)
        if state.run == self.request.run and state.verb != "roll_back":
            ends = (state.active, state.moved_with)
            return ends if state.phase is Phase.SWITCHING or state.verb in STAY else (ends[1], ends[0])
        source = self.request.source or state.active
        return source, self.request.target or (
            VERBS[self.request.verb].only_standby(state) if source == state.active else state.active
        )

    def _ends_before_adoption(self, state: RegisterState | None) -> tuple[str, str]:
        """Return where a group that is not adopted is written to, and where its copy is.

        :param state: of a take over that has not ended, or of a group that was released
        """
        if state is not None and state.run == self.request.run:
            return state.active, state.moved_with
        if self.request.verb == "take_over" and len(self.group.clusters) > 2:
            said = "with several standbys, and existing replication can be taken over only for a group of two clusters"
            raise Refused(f"{self.group.name} is declared {said} in this version")
        if self.request.verb != "take_over":
            if state is None:
                raise Refused(f"no register has a record of {self.group.name}: adopt it with dr_adopt first")
            raise Refused(f"{self.group.name} is {state.phase} by run {state.run}: {way_out(state)}")
        source = self.request.source or self.group.initial_active
        return source, self.request.target or Roles.at_first(self.group.clusters, source).standby

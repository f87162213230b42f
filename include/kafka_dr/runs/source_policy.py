"""Whether a run may wait for its source. One object decides everything that follows from it.

A planned failover and a failback need their source. An unplanned failover does not: the source may be dead, so the
target's register decides from the beginning, and nothing waits for the source longer than a given time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from kafka_dr.errors import KafkaDrError, Refused, TryAgain
from kafka_dr.register import Phase, RegisterState, Verb
from kafka_dr.register.port import RegisterUnusable
from kafka_dr.runs import background, register_read
from kafka_dr.runs.background import BackgroundCall
from kafka_dr.runs.register_read import Waiting
from kafka_dr.runs.request import VERBS

T = TypeVar("T")

#: Asks every cluster of the group at the same time; an error replaces an answer.
AskEach = Callable[[Callable[[str], Any]], Mapping[str, Any]]


#: The active cluster's register decides in these phases.
_BEFORE_THE_HAND_OVER = frozenset({Phase.SWITCHING, Phase.ADOPTING, Phase.RELEASING})


@dataclass(frozen=True, slots=True)
class RegistersRead:
    """The highest record that counts for a run, the clusters whose registers did not answer, and what others held."""

    state: RegisterState | None
    silent: frozenset[str] = frozenset()
    seen: Mapping[str, RegisterState | None] = field(default_factory=dict)


class SourcePolicy:
    """What a run does differently if its source may be dead. Here: it needs its source."""

    #: Whether the journal that a step has read gains the facts that the step writes.
    sees_own_facts = False

    def short_timeouts(self, clusters: Collection[str], *, source: str | None, target: str | None) -> Collection[str]:
        """Return the clusters whose requests give up early.

        :param source: as asked for; ``None`` where the register says it
        :param target: as asked for; ``None`` where the register says it
        """
        return ()

    def decides(self, phase: Phase, *, source: str, target: str) -> str:
        """Return the cluster whose register decides in a phase."""
        return source if phase in _BEFORE_THE_HAND_OVER else target

    def keeps_journal(self, *, source: str, target: str) -> str:
        """Return the cluster whose register holds every fact of the run."""
        return source

    def read_registers(
        self,
        group: str,
        clusters: Collection[str],
        read: Callable[[str], RegisterState | None],
        ask_each: AskEach,
        *,
        run: str,
        target: str | None,
        waiting: Waiting,
        override: str = "",
    ) -> RegistersRead:
        """Read the registers and return the record that counts.

        :param waiting: how long the registers of clusters that may be dead are waited for
        :param override: why the source is given up; it may name clusters that are known to be off
        :raises NeedsPerson: the records contradict each other, or the one that decides cannot be read
        """
        return RegistersRead(register_read.decided(group, ask_each(read)))

    def read_facts(
        self, read: Callable[[str], dict[str, Any]], ask_each: AskEach, *, target: str, decides: str
    ) -> dict[str, Any]:
        """Return what earlier steps of the run journaled.

        :param decides: the cluster whose register decides; if registers differ about a fact, it counts
        """
        answers = ask_each(read)
        facts: dict[str, Any] = {}
        for cluster in sorted(answers, key=lambda name: name == decides):
            answer = answers[cluster]
            if not isinstance(answer, KafkaDrError):
                facts |= answer
        return facts

    def write_fact(
        self,
        write: Callable[[str], None],
        ask_each: AskEach,
        *,
        source: str,
        target: str,
        decides: str,
        needed_on: Collection[str] | None,
    ) -> None:
        """Journal a fact: first in the register that decides, which may refuse it, then in the other one.

        :param decides: the cluster of that register
        :param needed_on: the clusters whose registers must take it; ``None`` means all that the policy needs
        :raises KafkaDrError: one of those did not take it
        """
        write(decides)
        answers = ask_each(lambda cluster: None if cluster == decides else write(cluster))
        for cluster in set(needed_on if needed_on is not None else (source, target)):
            answer = answers[cluster]
            if isinstance(answer, KafkaDrError):
                raise answer

    def seconds_for_source(self, seconds: float) -> float:
        """Return how long a step waits for something that has to come from the source."""
        return seconds

    def connect_ahead(self, connect: Callable[[], None]) -> None:
        """Open connections to both logs before it is known whether it is the step's turn."""
        connect()

    def refuse_at_source(self, why: str) -> None:
        """Refuse because of what was seen on the source after the approval.

        :raises Refused: the run needs its source; otherwise the run only reports it
        """
        raise Refused(why)

    def ask_source(self, name: str, question: Callable[[], T], *, seconds: float) -> T:
        """Ask the source, and wait for the answer as long as the run may.

        :param name: what is asked, as it continues "no answer to …"
        """
        return question()

    def can_do_without(self, error: KafkaDrError) -> bool:
        """Return whether the run continues although the source answered with this error, or not at all."""
        return False

    def try_flow(self, act: Callable[[], None], *, seconds: float) -> None:
        """Ask what runs a flow for something; it answers slowly if the source is dead."""
        act()


class SourceRequired(SourcePolicy):
    """The source answers, or the run stops: planned failover, failback."""


class SourceOptional(SourcePolicy):
    """The source may be dead, so nothing waits for it for long: unplanned failover."""

    # Its fence step runs the steps that fence and drain the source, and these read what was just written.
    sees_own_facts = True

    def short_timeouts(self, clusters: Collection[str], *, source: str | None, target: str | None) -> Collection[str]:
        """Return all but the target, as far as the request names them."""
        return [name for name in clusters if name == source or (target and name != target)]

    def decides(self, phase: Phase, *, source: str, target: str) -> str:
        """Return the target, from the claim on."""
        return target

    def keeps_journal(self, *, source: str, target: str) -> str:
        """Return the target."""
        return target

    def read_registers(
        self,
        group: str,
        clusters: Collection[str],
        read: Callable[[str], RegisterState | None],
        ask_each: AskEach,
        *,
        run: str,
        target: str | None,
        waiting: Waiting,
        override: str = "",
    ) -> RegistersRead:
        """Read all registers at once, and wait only for the target's, or for more than half of several standbys."""
        answers = register_read.read_patiently_from_one(clusters, read, run=run, target=target, waiting=waiting)
        silent = frozenset(
            name
            for name, found in answers.items()
            if isinstance(found, TryAgain) and not isinstance(found, RegisterUnusable)
        )
        state = register_read.decided_without_source(group, answers, target=target, off=override, run=run)
        return RegistersRead(state, silent, register_read.states_of(answers))

    def read_facts(
        self, read: Callable[[str], dict[str, Any]], ask_each: AskEach, *, target: str, decides: str
    ) -> dict[str, Any]:
        """Return the facts in the target's register."""
        return read(target)

    def write_fact(
        self,
        write: Callable[[str], None],
        ask_each: AskEach,
        *,
        source: str,
        target: str,
        decides: str,
        needed_on: Collection[str] | None,
    ) -> None:
        """Write to the target's register, and in the background to the source's: it may never answer."""
        write(target)
        BackgroundCall(f"a fact for {source}", partial(write, source))

    def seconds_for_source(self, seconds: float) -> float:
        """Return 0: do not wait for a source that may be lost."""
        return 0

    def connect_ahead(self, connect: Callable[[], None]) -> None:
        """Do nothing: it would wait for the source."""

    def refuse_at_source(self, why: str) -> None:
        """Continue: the approvers know that the source is given up."""

    def ask_source(self, name: str, question: Callable[[], T], *, seconds: float) -> T:
        """Give up after so many seconds."""
        return background.ask(name, question, seconds=seconds)

    def can_do_without(self, error: KafkaDrError) -> bool:
        """Return whether the source only failed to answer: a refusal is an answer."""
        return not isinstance(error, Refused)

    def try_flow(self, act: Callable[[], None], *, seconds: float) -> None:
        """Ask, and give up after so many seconds."""
        with suppress(KafkaDrError):
            background.ask("the flow", act, seconds=seconds)


def policy_of(verb: Verb) -> SourcePolicy:
    """Return the policy of a verb: only an unplanned failover continues without its source."""
    return SourceOptional() if VERBS[verb].source_may_be_dead else SourceRequired()

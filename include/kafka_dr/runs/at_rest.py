"""What is looked at between two switches, and only then: a group that moves is left alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_dr import parallel
from kafka_dr.errors import KafkaDrError
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.roles import Role
from kafka_dr.watch_results import STANDBYS, WORST_FIRST, WatchOutcome
from kafka_dr.watch_results.of_standbys import standby_row


@dataclass(frozen=True, slots=True)
class WatchResult:
    """What a look at a group found, and what was done about it.

    :param sentences: what was seen and done, in order
    :param facts: figures by their name, as plain JSON values
    """

    group: str
    outcome: WatchOutcome
    sentences: tuple[str, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """All of it in one line."""
        return f"{self.group}: " + "; ".join(self.sentences)


def at_rest(group: str, state: RegisterState | None) -> RegisterState | WatchResult:
    """Return the record of a group that may be touched, or why this one may not."""
    if state is None:
        return WatchResult(
            group, "left_alone", ("no register has a record of it: it is not adopted, nothing is touched",)
        )
    if state.phase is Phase.RELEASED:
        said = f"it was released by run {state.run} (epoch {state.epoch}) and is not adopted, nothing is touched"
        return WatchResult(group, "left_alone", (said,))
    if not state.is_at_rest:
        held = f"it is {state.phase} by run {state.run} (epoch {state.epoch}), nothing is touched"
        return WatchResult(group, "left_alone", (held,))
    return state


def of_each_standby(
    state: RegisterState,
    look: Callable[[str], WatchResult],
    *,
    one_by_one: bool = False,
    copies_alone: bool = False,
) -> WatchResult:
    """Look at each standby of a group, and return all of it: the worst first, with the facts of the worst one.

    One that was given up is not looked at. One that does not answer is unknown, and hides none of the others. The
    answer about a pair is that about its only standby.

    :param look: what is found about a standby
    :param one_by_one: whether two looks may not happen at the same time
    :param copies_alone: whether a standby of several that waits for its flow is left alone
    """
    if not state.has_several:
        return look(state.standby)
    at_most = 1 if one_by_one else len(state.followers)

    def looked(standby: str) -> WatchResult:
        return waits_for_its_flow(state, standby) if copies_alone and _waits(state, standby) else look(standby)

    answers = parallel.ask_each(looked, state.followers, at_most=at_most)
    found = {standby: _found(state.group, standby, answer) for standby, answer in answers.items()}
    ranked = sorted(found.values(), key=lambda each: WORST_FIRST.index(each.outcome))
    rows = [standby_row(name, each.outcome, each.sentences, each.facts) for name, each in found.items()]
    said = dict.fromkeys(sentence for each in ranked for sentence in each.sentences)
    return WatchResult(state.group, ranked[0].outcome, tuple(said), {**ranked[0].facts, STANDBYS: rows})


def waits_for_its_flow(state: RegisterState, standby: str) -> WatchResult:
    """Say of a standby of several that nothing is copied to it yet."""
    said = f"{standby} waits for its flow from {state.active}, and dr_flows starts that within 5 minutes"
    return WatchResult(state.group, "left_alone", (said,))


def _waits(state: RegisterState, standby: str) -> bool:
    return state.roles.of(standby) is Role.PENDING


def _found(group: str, standby: str, answer: WatchResult | KafkaDrError) -> WatchResult:
    if isinstance(answer, WatchResult):
        return answer
    return WatchResult(group, "unknown", (f"{standby} could not be looked at: {answer}",))

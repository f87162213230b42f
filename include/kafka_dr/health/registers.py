"""The registers of a group's clusters, read at the same time, and those that did not answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError
from kafka_dr.register import RegisterState, highest
from kafka_dr.register.port import RegisterUnusable
from kafka_dr.register.state import require_known
from kafka_dr.runs.background import Silent
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.register_guard import Condition, RegisterGuard
from kafka_dr.runs.silent_clusters import SilentClusters

#: A register is one short read. A cluster that takes longer counts as silent, and is asked again in a minute.
REGISTER_SECONDS = 6.0


@dataclass(frozen=True, slots=True)
class RegisterAnswer:
    """What one cluster answered.

    :param cluster_id: the id that the cluster itself reports
    :param unusable: why its register could not be read; ``None`` if it was
    """

    cluster_id: str
    state: RegisterState | None
    unusable: RegisterUnusable | None = None


@dataclass(frozen=True, slots=True)
class RegisterAnswers:
    """Every cluster's answer, or why there is none.

    :param states: by cluster that answered; ``None`` if it has no record
    :param wrong_ids: the cluster id found, by name of each cluster whose address leads to another cluster; what such a
        cluster holds is ignored
    :param silent: the error, by cluster that did not answer
    :param unusable: why its register cannot be read, by cluster that answers
    """

    states: Mapping[str, RegisterState | None]
    wrong_ids: Mapping[str, str]
    silent: Mapping[str, KafkaDrError]
    unusable: Mapping[str, RegisterUnusable] = field(default_factory=dict)

    @property
    def answering(self) -> tuple[str, ...]:
        """The clusters that answered, whether or not their registers can be read."""
        return (*self.states, *self.unusable)

    @property
    def unread(self) -> Mapping[str, KafkaDrError]:
        """Why there is no record, by cluster whose register was not read."""
        return {**self.silent, **self.unusable}

    @property
    def newest(self) -> RegisterState | None:
        """The highest record of those that answered.

        :raises NeedsPerson: two records contradict each other, or a newer version of this project wrote one
        """
        require_known(self.silent)
        return highest(dict(self.states))


def read_registers(context: GroupContext) -> RegisterAnswers:
    """Ask every cluster of the group at the same time. One that is silent is not waited for again in this look."""

    def asked(cluster: str) -> Callable[[], RegisterAnswer]:
        def ask() -> RegisterAnswer:
            identity = context.operator(cluster).topics.identity()
            try:
                state = context.clients.register(cluster).read(context.declared.name)
            except RegisterUnusable as error:
                return RegisterAnswer(identity.cluster_id, None, error)
            return RegisterAnswer(identity.cluster_id, state)

        return ask

    # Whoever can write a record of another shape must not keep a cluster that returns from being fenced.
    context.clients.ignore_foreign_records()
    for name in context.group.clusters:
        # Nothing waits for a call that hangs, but a process does not end before its last request has ended.
        context.clients.hurry(name, REGISTER_SECONDS)
    answers = _answers_in_time(context.clients.silent_clusters, {name: asked(name) for name in context.group.clusters})
    declared = {name: context.clients.topology.cluster(name).cluster_id for name in context.group.clusters}
    found = {name: answer for name, answer in answers.items() if isinstance(answer, RegisterAnswer)}
    context.known_silent = {name: answer for name, answer in answers.items() if isinstance(answer, KafkaDrError)}
    right = {name: reading for name, reading in found.items() if reading.cluster_id == declared[name]}
    return RegisterAnswers(
        states={name: reading.state for name, reading in right.items() if reading.unusable is None},
        wrong_ids={name: r.cluster_id for name, r in found.items() if name not in right},
        silent=context.known_silent,
        unusable={name: reading.unusable for name, reading in right.items() if reading.unusable is not None},
    )


def _answers_in_time(
    silent: SilentClusters, questions: Mapping[str, Callable[[], RegisterAnswer]]
) -> dict[str, RegisterAnswer | KafkaDrError]:
    """Ask each cluster. One that has left other groups of this process without an answer gets only a moment more."""
    asked = {name: silent.ask(name, name, question) for name, question in questions.items()}
    answers: dict[str, RegisterAnswer | KafkaDrError] = {}
    for name, call in asked.items():
        try:
            answers[name] = call.within(silent.seconds(name, REGISTER_SECONDS, full=REGISTER_SECONDS))
        except Silent:
            answers[name] = Silent(f"no answer to {name} within {duration(REGISTER_SECONDS)}")
        except KafkaDrError as error:
            answers[name] = error
    return answers


def newest_now(context: GroupContext, answered: RegisterAnswers) -> RegisterState | None:
    """Read the registers that answered once more, and return the highest record.

    :raises NeedsPerson: two records contradict each other
    """
    return highest({name: context.clients.register(name).read(context.group.name) for name in answered.states})


def guard_by_answering(context: GroupContext, answered: RegisterAnswers, condition: Condition) -> RegisterGuard:
    """Return what is asked right before each change: does the newest record still permit it?

    Only registers that answered are read again, so that a dead cluster cannot delay the change. That is enough: a
    cluster's own register names it active before its fence is lifted.
    """
    asked = f"the newest record of {', '.join(answered.states)}"
    return RegisterGuard(context.group.name, asked, lambda: newest_now(context, answered), condition)

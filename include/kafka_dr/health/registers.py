"""The registers of a group's clusters, as far as they answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.register import RegisterState, highest
from kafka_dr.runs import background
from kafka_dr.runs.group_context import GroupContext

#: A register is one short read: who takes longer is treated as silent, and asked again in a minute.
REGISTER_SECONDS = 6.0


@dataclass(frozen=True, slots=True)
class RegisterAnswer:
    """What one cluster answered.

    :param cluster_id: its own word about which cluster it is
    """

    cluster_id: str
    state: RegisterState | None


@dataclass(frozen=True, slots=True)
class RegisterAnswers:
    """Every cluster's answer, or why there is none.

    :param states: by cluster that answered; ``None`` where it has no record
    :param strangers: clusters behind whose name another one answers, and its id; what those hold counts for nothing
    :param silent: clusters that did not answer
    """

    states: Mapping[str, RegisterState | None]
    strangers: Mapping[str, str]
    silent: Mapping[str, KafkaDrError]

    @property
    def newest(self) -> RegisterState | None:
        """The highest record of those that answered.

        :raises NeedsPerson: two of them contradict each other
        """
        return highest(dict(self.states))


def read_registers(context: GroupContext) -> RegisterAnswers:
    """Ask every cluster of the group at the same time."""

    def asked(cluster: str) -> Callable[[], RegisterAnswer]:
        def ask() -> RegisterAnswer:
            identity = context.operator(cluster).topics.identity()
            return RegisterAnswer(identity.cluster_id, context.clients.register(cluster).read(context.group.name))

        return ask

    for name in context.group.clusters:
        # What hangs is not waited for, but a process does not end before its last request has.
        context.clients.hurry(name, REGISTER_SECONDS)
    questions = {name: asked(name) for name in context.group.clusters}
    answers = background.ask_all(questions, seconds=dict.fromkeys(questions, REGISTER_SECONDS))
    declared = {name: context.clients.topology.cluster(name).cluster_id for name in context.group.clusters}
    found = {name: answer for name, answer in answers.items() if isinstance(answer, RegisterAnswer)}
    return RegisterAnswers(
        states={name: reading.state for name, reading in found.items() if reading.cluster_id == declared[name]},
        strangers={name: r.cluster_id for name, r in found.items() if r.cluster_id != declared[name]},
        silent={name: answer for name, answer in answers.items() if isinstance(answer, KafkaDrError)},
    )


def newest_now(context: GroupContext, answered: RegisterAnswers) -> RegisterState | None:
    """Read the registers that answered once more, and return the highest record.

    :raises NeedsPerson: two of them contradict each other
    """
    return highest({name: context.clients.register(name).read(context.group.name) for name in answered.states})


def as_long_as(
    context: GroupContext, answered: RegisterAnswers, holds: Callable[[RegisterState], bool]
) -> Callable[[], None]:
    """Return what is asked right before each change: is what the change rests on still so?

    Only registers that answered are read again, so that a dead one cannot hold up the change. That is enough: a
    cluster's own register names it active before its fence is lifted.

    :param holds: whether the newest record still asks for the change
    """

    def ask() -> None:
        now = newest_now(context, answered)
        if now is None or not holds(now):
            said = "nothing" if now is None else f"{now.phase} with {now.active} active (epoch {now.epoch})"
            raise Refused(f"the registers now say {said} about {context.group.name}: what was not changed yet is left")

    return ask

"""Which brokers keep a check waiting while others answer: a slow worker must not hide one that hangs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from kafka_dr.clusters import ClusterIdentity
from kafka_dr.errors import Unanswered
from kafka_dr.runs import background
from kafka_dr.runs.group_context import GroupContext

#: How long each broker has to say anything, in seconds.
ANSWER_SECONDS = 3.0
#: A setting that each broker has.
_ANY = ("broker.id",)


def hung_brokers(context: GroupContext, clusters: Iterable[str], *, seconds: float = ANSWER_SECONDS) -> tuple[str, ...]:
    """Return what does not answer although something else does: ``east``, or ``broker 2 of east``.

    If nothing answers, it may be this worker, and nothing is named.

    :param clusters: those that are asked, and each of their brokers
    :param seconds: how long a cluster has, and then each of its brokers
    """
    asked = {name: context.operator(name) for name in clusters}
    answers: dict[str, object] = dict(
        background.answers_within({name: each.topics.identity for name, each in asked.items()}, seconds=seconds)
    )
    brokers = {
        f"broker {broker} of {name}": partial(asked[name].broker_settings.read, [broker], _ANY)
        for name, identity in answers.items()
        if isinstance(identity, ClusterIdentity)
        for broker in identity.brokers
    }
    answers |= background.answers_within(brokers, seconds=seconds)
    hung = tuple(name for name, answer in answers.items() if isinstance(answer, Unanswered))
    return hung if len(hung) < len(answers) else ()


def blame(too_slow: str, hung: Iterable[str]) -> str:
    """Return what to check if answers were missing while this worker was slow.

    :param too_slow: why this worker could not ask
    :param hung: what did not answer although something else did
    """
    names = " and ".join(hung)
    if not names:
        return too_slow
    return f"{names} gave no answer in time, and others did: check {names}. It may be this worker, too: {too_slow}"

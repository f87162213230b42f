"""Between two looks of health: does each cluster still answer, or stay silent, as the last look heard it?

A look begins every minute. A cluster that dies right after one would be noticed more than a minute later. To ask a
cluster whether it answers costs one request, so it is asked in between. Only after a change is a look taken again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial

from kafka_dr.errors import KafkaDrError
from kafka_dr.runs import background
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.clients import Clients
from kafka_dr.topology.model import Topology
from kafka_dr.waiting import wait_until

#: Up to this second of the minute clusters are asked whether they still answer. A look that follows has to end before
#: the next one begins, and one that begins with the next minute has to find a cluster that dies now within a minute.
LISTENS_UNTIL = timedelta(seconds=27)
#: With less time than this nothing is asked: a child process takes a second to begin.
LEAST_SECONDS = 5.0
#: The last question is put before the time is over, and its answer waited for.
LAST_ANSWER_SECONDS = 7.0
#: How long an answer may take. One that is only late costs a look that was not needed.
ANSWER_SECONDS = 5.0
#: Between two questions.
_PAUSE_SECONDS = 3.0


def seconds_to_listen(began: datetime, now: datetime) -> float:
    """Return for how long clusters may be asked in the minute in which a look began; negative if that is over.

    :param now: when the look has ended
    """
    return (began.replace(second=0, microsecond=0) + LISTENS_UNTIL - now).total_seconds()


def one_of_each(topology: Topology, found: Iterable[str]) -> list[str]:
    """Return one group for all groups on the same clusters."""
    return sorted({frozenset(topology.group(name).clusters): name for name in found}.values())


def heard_in(found: Iterable[WatchResult]) -> dict[str, bool]:
    """Return whether each cluster answered in a look at health; without those of which the look does not say so.

    :param found: the results of the groups
    """
    facts = [each.facts for each in found]
    answering = {name: True for each in facts for name in each.get("answering", ())}
    return answering | {name: False for each in facts for name in each.get("silent", ())}


def changed_clusters(
    known: Mapping[str, bool], clients: Clients, *, seconds: float, answer_seconds: float = ANSWER_SECONDS
) -> tuple[str, ...]:
    """Ask again and again, until a cluster answers that was silent, or is silent that answered. Changes nothing.

    :param known: whether each cluster answered in the last look
    :param seconds: how long to ask; afterwards the answers of the last question are waited for
    :returns: the clusters that changed; none if the time is over before
    """
    for name in known:
        clients.hurry(name, answer_seconds)
    questions = {name: partial(_identity, clients, name) for name in known}

    def changed() -> tuple[str, ...]:
        answers = background.answers_within(questions, seconds=answer_seconds)
        return tuple(sorted(name for name, said in answers.items() if known[name] is isinstance(said, KafkaDrError)))

    return wait_until(changed, bool, clock=clients.clock, seconds=seconds, pause_seconds=_PAUSE_SECONDS)


def _identity(clients: Clients, cluster: str) -> str:
    return clients.cluster(cluster, "operator").topics.identity().cluster_id

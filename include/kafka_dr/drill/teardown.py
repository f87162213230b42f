"""Remove everything that a drill made, found by name alone; then look whether anything is left.

It needs nothing that the drill remembered, so it also removes what a process left that was killed anywhere. It can be
interrupted and run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import permutations

from kafka_dr import parallel
from kafka_dr.clusters import GroupNotEmpty, NotAuthorized
from kafka_dr.drill.rights import names_of, of_drill, to_tear_down
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError, TryAgain
from kafka_dr.replication.flow import Flow
from kafka_dr.routing import Router
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.topology.drill_group import Drill
from kafka_dr.waiting import wait_until

#: How long a deletion may take: a member of a process that was killed stays in its group for seconds.
_SECONDS = 60.0


def tear_down(drill: Drill, clients: Clients, say: Callable[[str], None]) -> tuple[str, ...]:
    """Remove everything, and return what is left, a sentence each; nothing if all is gone.

    What a killed process had asked for may be made only now, after this has looked for it. So what is left is removed
    once more.

    :param clients: of the drill
    """
    left = _remove_all(drill, clients) and _remove_all(drill, clients)
    say("; ".join(left) or f"nothing of {drill.name} is left on {', '.join(drill.group.clusters)}")
    return left


def _remove_all(drill: Drill, clients: Clients) -> tuple[str, ...]:
    context = GroupContext(drill.name, clients)
    problems: list[str] = []
    # Flows first: one would create its topics again.
    jobs: list[tuple[str, Callable[[], None]]] = [
        (f"{flow.name}", partial(_remove_flow, context, flow)) for flow in _flows(drill)
    ]
    problems += _done(jobs)
    problems += _done(
        [(f"the drill on {name}", partial(_clear, context, drill, name)) for name in drill.group.clusters]
    )
    problems += _done([("the route", _router(context).remove)])
    return (*problems, *what_is_left(drill, clients))


def what_is_left(drill: Drill, clients: Clients) -> tuple[str, ...]:
    """Return what is there with the drill's name, a sentence each; what cannot be asked counts as left."""
    context = GroupContext(drill.name, clients)
    found = parallel.ask_each(partial(_left_on, context, drill), drill.group.clusters)
    said = [
        f"whether anything is left on {cluster} is not known: {names}"
        if isinstance(names, KafkaDrError)
        else f"on {cluster} there still is {', '.join(names)}"
        for cluster, names in found.items()
        if names
    ]
    try:
        routes = [f"{each} still exists" for each in _router(context).remains()]
    except KafkaDrError as error:
        routes = [f"whether its route is left is not known: {error}"]
    return (*said, *routes)


def _left_on(context: GroupContext, drill: Drill, cluster: str) -> tuple[str, ...]:
    operator = context.operator(cluster)
    topics, groups = _made_on(context, cluster)
    acls = of_drill(operator.acls.list(), context.group, cluster)
    ours = {flow.name for flow in _flows(drill)}
    flows = [name for name in context.clients.replication.flows_into(cluster) if name in ours]
    registers = ["its record in the register"] if drill.name in context.clients.register(cluster).drill_groups() else []
    rights = [f"{len(acls)} ACLs on {drill.prefix}*"] if acls else []
    return (*topics, *(f"the group {name}" for name in groups), *flows, *rights, *registers)


def _flows(drill: Drill) -> tuple[Flow, ...]:
    return tuple(Flow(drill.name, source, target) for source, target in permutations(drill.group.clusters, 2))


def _done(jobs: Iterable[tuple[str, Callable[[], None]]]) -> list[str]:
    """Do every job at the same time, and return what went wrong, a sentence each: one failure stops no other job."""
    wanted = dict(jobs)
    answers = parallel.ask_each(lambda name: wanted[name](), wanted)
    return [f"{name} could not be removed: {error}" for name, error in answers.items() if error is not None]


def _remove_flow(context: GroupContext, flow: Flow) -> None:
    replicator = context.clients.replicator(flow)
    if replicator.setup() is None:
        return
    replicator.stop()
    replicator.wait_stopped(_SECONDS)
    replicator.remove(forget=True)


def _clear(context: GroupContext, drill: Drill, cluster: str) -> None:
    """Delete the drill's topics, consumer groups and ACLs on a cluster, and its records in the register there."""
    context.clients.require_declared(cluster)
    operator = context.operator(cluster)
    if any(_made_on(context, cluster)):
        operator.acls.add(to_tear_down(context.group, cluster))
        _until_gone(context, lambda: _delete(context, cluster), f"topics and groups {drill.prefix}* on {cluster}")
    operator.acls.remove(of_drill(operator.acls.list(), context.group, cluster))
    context.clients.register(cluster).forget(drill.name)
    digests = context.clients.digests(cluster)
    for path in [path for path in digests.read() if f"/{drill.name}/" in f"/{path}"]:
        digests.write(path, None)


def _made_on(context: GroupContext, cluster: str) -> tuple[list[str], list[str]]:
    """Return the topics and the consumer groups of a drill on a cluster, now."""
    operator, begins = context.operator(cluster), names_of(context.group, cluster)
    topics, groups = operator.topics.names(), operator.groups.names()
    return [name for name in topics if name.startswith(begins)], [name for name in groups if name.startswith(begins)]


def _delete(context: GroupContext, cluster: str) -> bool:
    """Delete topics and groups, and return whether they are gone."""
    operator, (topics, groups) = context.operator(cluster), _made_on(context, cluster)
    operator.topics.delete(topics)
    operator.groups.delete(groups)
    return not any(_made_on(context, cluster))


def _until_gone(context: GroupContext, delete: Callable[[], bool], what: str) -> None:
    # Right after its right was added, a broker may still refuse.
    again = (GroupNotEmpty, NotAuthorized, TryAgain)
    if not wait_until(delete, bool, clock=context.clock, seconds=_SECONDS, pause_seconds=0.5, retry=again):
        raise TryAgain(f"{what} still exist after {duration(_SECONDS)}: run the teardown again")


def _router(context: GroupContext) -> Router:
    return context.clients.router(context.group)

"""Whether a drill may begin now: refused when it could meet a run, or an outage, of the real group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial

from kafka_dr import parallel
from kafka_dr.checks.cluster_checks import leaderless
from kafka_dr.clusters import KafkaCluster
from kafka_dr.drill.approving import approver_of
from kafka_dr.drill.result import DrillResult, DrillResults
from kafka_dr.drill.windows import is_open
from kafka_dr.errors import KafkaDrError, Refused, TryAgain
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.json_documents import DocumentDamaged
from kafka_dr.register import Phase, RegisterState
from kafka_dr.runs.clients import Clients, wrong_cluster_id
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.topology.drill import DrillKind
from kafka_dr.topology.drill_group import Drill, declared, drill_of
from kafka_dr.topology.model import ProtectionGroup
from kafka_dr.topology.names import DRILL_PREFIX

#: So many drills of the past say where the next one goes.
_PAST = 20


def drill_now(group: str, kind: DrillKind, drill_id: str, clients: Clients, *, standby: str | None = None) -> Drill:
    """Return the drill that somebody asks for, from where the real group is active now.

    :param standby: where it goes; of several the one that was drilled longest ago where ``None``
    :raises Refused: no drill is declared, or no run may hold the group and one does, or that standby is no copy
    :raises TryAgain: the registers do not answer
    """
    spec, state = declared(clients.topology, group), at_rest(group, clients)
    copies = state.roles.copies
    chosen = standby or longest_undrilled(copies, _past(group, clients))
    if chosen not in copies:
        named = " or ".join(copies) or "none now"
        raise Refused(f"{chosen} holds no copy of {group}, so no drill goes there: choose {named}")
    return Drill(clients.topology.group(group), spec, drill_id, kind, (state.active, chosen))


def _past(group: str, clients: Clients) -> Sequence[DrillResult]:
    """Return the newest drills; what cannot be read only chooses where the next one goes."""
    with suppress(DocumentDamaged, OSError):
        return DrillResults(clients.evidence_root, group).newest(_PAST)
    return ()


def longest_undrilled(standbys: Sequence[str], past: Iterable[DrillResult]) -> str:
    """Return the standby to which no drill has gone, or none for the longest time. Pure.

    :param past: the newest drills of the group
    """
    last = {each.standby: each.id for each in sorted(past, key=lambda each: each.id)}
    return min(standbys, key=lambda name: (last.get(name, ""), name), default="no cluster")


def drill_to_remove(group: str, drill_id: str, clients: Clients) -> Drill:
    """Return a drill as far as its teardown has to know it: its names, whatever the real group does now.

    :raises Refused: no drill is declared
    """
    real = clients.topology.group(group)
    return Drill(real, declared(clients.topology, group), drill_id, "planned", real.clusters)


def at_rest(group: str, clients: Clients) -> RegisterState:
    """Return the record of the real group, which has to be stable before a drill and during it.

    :raises Refused: it is not
    """
    state = GroupContext(group, clients).read_register_state()
    if state is None:
        raise Refused(f"no register has a record of {group}, so it is not known where it is active: adopt it first")
    if state.phase is not Phase.STABLE:
        raise Refused(
            f"{group} is {state.phase} by run {state.run} (epoch {state.epoch}), and a drill must not be in its way: "
            "try again when it is stable"
        )
    return state


def require_possible(drill: Drill, clients: Clients, *, requester: str, key: SigningKey | None = None) -> None:
    """Refuse a drill that may not begin now. Nothing is changed.

    :param clients: of the real world
    :param requester: the name of the person who triggers it; empty where no person does
    :raises Refused: it may not begin
    :raises TryAgain: it cannot be found out
    """
    now = clients.clock.now()
    if not is_open(drill.spec.windows, now):
        windows = ", ".join(drill.spec.windows)
        raise Refused(f"it is {now:%a %H:%M} UTC, and drills of {drill.group.name} begin {windows} (drill.windows)")
    approver_of(drill, clients, requester=requester, key=key)
    _gives_rights(drill, clients)
    asked: dict[str, Callable[[], None]] = {}
    for cluster in drill.clusters:
        asked[f"{cluster} as the drill"] = partial(_login_works, drill, clients, cluster)
        asked[cluster] = partial(_cluster_is_fine, drill.group, clients, cluster)
    for what, error in parallel.ask_each(lambda name: asked[name](), asked).items():
        if isinstance(error, Refused):
            raise error
        if isinstance(error, KafkaDrError):
            raise TryAgain(f"no drill begins while a cluster is not well: {what}: {error}")


def remaining(group: ProtectionGroup, clients: Clients) -> tuple[str, ...]:
    """Return the ids of the drills of a group that still have something on its clusters or in its registers.

    :param clients: of the real world
    :raises KafkaDrError: a cluster does not answer
    """

    def found_on(cluster: str) -> set[str]:
        operator = clients.cluster(cluster, "operator")
        names = {name.rpartition(".")[0] for name in (*operator.topics.names(), *operator.groups.names())}
        names |= {name.split(".")[1] for name in clients.replication.flows_into(cluster) if name.count(".") > 1}
        names |= {acl.name.rstrip(".") for acl in operator.acls.list()}
        return names | clients.register(cluster).drill_groups()

    names = set().union(*parallel.ask_all(found_on, group.clusters).values())
    # A copy may begin with the name of its original's cluster.
    drills = filter(None, (drill_of(name[max(0, name.find(DRILL_PREFIX)) :]) for name in names))
    return tuple(sorted(drill_id for name, drill_id in drills if name == group.name))


def require_no_other(drill: Drill, clients: Clients) -> None:
    """Refuse a drill while another one of the group runs, or has left something.

    :raises Refused: there is one
    """
    if others := [each for each in remaining(drill.group, clients) if each != drill.id]:
        raise Refused(
            f"drill {others[0]} of {drill.group.name} runs, or has left something: wait until it has ended. If "
            f"its process is dead, remove it: python -m kafka_dr drill --group {drill.group.name} --teardown"
        )


def _gives_rights(drill: Drill, clients: Clients) -> None:
    """A drill gives its principals rights and takes them back; where others keep the rules, that would not last."""
    for cluster in drill.clusters:
        spec = clients.topology.cluster(cluster).access_rules
        if not spec.is_direct:
            raise Refused(
                f"the access rules of {cluster} are kept in {spec.where}, and a drill gives its principals their "
                "rights by ACLs that it adds and removes itself: groups on such a cluster cannot be drilled yet"
            )


def _login_works(drill: Drill, clients: Clients, cluster: str) -> None:
    connection = drill.spec.connections[cluster]
    with KafkaCluster(cluster, clients.connections.kafka(connection)) as reached:
        found = reached.topics.identity().cluster_id
    if wrong := wrong_cluster_id(clients, cluster, found):
        raise Refused(f"the drill's connection {connection} leads to another cluster: {wrong}. Fix the connection")


def _cluster_is_fine(group: ProtectionGroup, clients: Clients, cluster: str) -> None:
    clients.require_declared(cluster)
    if missing := leaderless(GroupContext(group.name, clients).topics(cluster)):
        raise TryAgain(f"partitions of {', '.join(missing[:3])} have no leader on {cluster}")
    clients.replication.flows_into(cluster)

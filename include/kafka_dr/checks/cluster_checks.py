"""Whether a group's two sides are what somebody takes them for: questions that more than one verb asks, and health."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kafka_dr.checks.authorizers import authorizer_of
from kafka_dr.clusters import Acl, Topic
from kafka_dr.fencing import plan, proof
from kafka_dr.fencing.authorizer import EVERYONE
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.read_cache import ReadCache
from kafka_dr.runs.record import Check
from kafka_dr.runs.run import Run


def active_side(run: Run) -> Check:
    """Return whether the register names the run's source as active, and its target is another cluster of the group."""
    state, name = run.register_state, "active_side"
    active = state.active if state else "nowhere"
    if active != run.source:
        return Check.that(name, False, f"{run.group.name} is active on {active}, not on {run.source}")
    if run.target not in run.group.clusters or run.target == run.source:
        declared = ", ".join(run.group.clusters)
        return Check.that(name, False, f"{run.target} is no other cluster of the group: choose among {declared}")
    return Check.that(name, True, f"{run.group.name} is active on {active}, epoch {run.epoch}")


def right_clusters(context: GroupContext, clusters: Collection[str], *, name: str = "right_clusters") -> Check:
    """Return whether each cluster is the declared one."""
    found = {cluster: context.operator(cluster).topics.identity().cluster_id for cluster in clusters}
    wrong = [said for cluster, told in found.items() if (said := wrong_cluster_id(context.clients, cluster, told))]
    return Check.that(name, not wrong, "; ".join(wrong) or f"the declared cluster id on {' and '.join(clusters)}")


def wrong_cluster_id(clients: Clients, cluster: str, found: str) -> str:
    """Say that a cluster is another one than was declared; empty where it is that one.

    :param found: the id that the cluster itself told
    """
    declared = clients.topology.cluster(cluster).cluster_id
    return "" if found == declared else f"{cluster} answers with cluster id {found}, the topology says {declared}"


def leaderless(topics: Mapping[str, Topic]) -> list[str]:
    """Name the topics that cannot be used now, as a partition has no leader."""
    return sorted(name for name, topic in topics.items() if -1 in topic.leaders)


def target_refuses(run: Run) -> Check:
    """Return whether the target is fenced: every leader refuses a write, and the DENYs stand."""
    refused = run.writes_refused(run.target)
    missing = proof.acls_present(run.operator(run.target), plan.application_denies(run.group), clock=run.clock)
    tells = missing if refused.outcome == "ok" and missing.outcome != "ok" else refused
    return Check.of("target_refuses", tells)


def foreign_denies_remain(run: Run, foreign: Collection[Acl]) -> Check:
    """Say that DENYs that others added would stay, and the target with them shut."""
    shown = "; ".join(str(acl) for acl in sorted(foreign)[:3])
    detail = f"{run.target} holds DENYs that were not added here and would not be lifted: {shown}. Remove them"
    return Check("target_can_be_opened", "failed", detail)


def writers_declared(context: GroupContext, clusters: Collection[str], *, seen: ReadCache | None = None) -> Check:
    """Return whether nobody may write whom the fence would not stop.

    That the probe is refused says nothing of principals that nobody declared: for them no DENY stands.

    :param seen: what the checks of a step look at together; who proves something looks anew
    """
    group = context.group
    seen = seen or ReadCache(topics=context.topics, acls=lambda cluster: context.operator(cluster).acls.list())
    fenced = {*group.principals, group.probe_principal}
    passing = {group.replicator_principal, *group.super_users}
    problems = []
    if super_apps := sorted(fenced & set(group.super_users)):
        problems.append(f"{', '.join(super_apps)} is a super user, whom no fence stops: take it out of super.users")
    for name in clusters:
        authorizer, topics = authorizer_of(context, name, seen.acls(name)), seen.topics(name)
        undeclared = sorted(authorizer.writers(topics) - fenced - passing)
        if open_to_all := authorizer.left_open(topics):
            shown = ", ".join(open_to_all[:3])
            problems.append(f"no ACL on {name} names {shown}, and its brokers then let everybody write: add ACLs")
        elif EVERYONE in undeclared:
            problems.append(f"an ACL on {name} lets everybody (User:*) write: name the principals instead")
        elif undeclared:
            problems.append(f"{', '.join(undeclared)} may write on {name} and is not among the group's principals")
    return Check.that("writers_declared", not problems, "; ".join(problems) or "every effective writer is declared")


def registers_name_this_run(run: Run) -> Sequence[Check]:
    """Return whether both registers name this run."""
    states = run.at_once(
        lambda: run.clients.register(run.source).read(run.group.name),
        lambda: run.clients.register(run.target).read(run.group.name),
    )
    named = zip((run.source, run.target), states, strict=True)
    others = [name for name, state in named if state is None or state.run != run.request.run]
    said = "both registers name this run" if not others else f"the register of {', '.join(others)} names another run"
    return (Check.that("register_read_back", not others, said),)

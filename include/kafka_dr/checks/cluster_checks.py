"""Whether a group's two clusters are what a run expects: checks that health and more than one verb use."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kafka_dr import parallel
from kafka_dr.checks.authorizers import authorizer_of, not_by_acls
from kafka_dr.clusters import Acl, Topic
from kafka_dr.fencing import plan
from kafka_dr.fencing.authorizer import EVERYONE
from kafka_dr.outcomes import Check
from kafka_dr.runs.clients import wrong_cluster_id
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.read_cache import ReadCache
from kafka_dr.runs.run import Run


def active_cluster(run: Run) -> Check:
    """Return whether the register names the run's source as active, and its target is another cluster of the group."""
    state, name = run.register_state, "active_cluster"
    active = state.active if state else "no cluster"
    if active != run.source:
        said = f"{run.group.name} is active on {active}, not on {run.source}: leave source and target empty"
        return Check.that(name, False, said)
    if run.target not in run.group.clusters or run.target == run.source:
        others = ", ".join(cluster for cluster in run.group.clusters if cluster != run.source)
        return Check.that(name, False, f"{run.target} cannot be the target of {run.group.name}: choose {others}")
    if state is not None and state.has_several and run.target not in state.roles.copies:
        others = ", ".join(state.roles.copies) or "none does"
        said = f"{run.target} holds no copy yet ({state.roles}): wait for dr_flows, or choose one that does ({others})"
        return Check.that(name, False, said)
    return Check.that(name, True, f"{run.group.name} is active on {active}, epoch {run.epoch}")


def right_clusters(context: GroupContext, clusters: Collection[str], *, name: str = "right_clusters") -> Check:
    """Return whether each cluster has the declared cluster id."""
    found = {cluster: context.operator(cluster).topics.identity().cluster_id for cluster in clusters}
    wrong = [said for cluster, seen in found.items() if (said := wrong_cluster_id(context.clients, cluster, seen))]
    return Check.that(name, not wrong, "; ".join(wrong) or f"{' and '.join(clusters)} have the declared cluster ids")


def leaderless(topics: Mapping[str, Topic]) -> list[str]:
    """Name the topics that have a partition without a leader."""
    return sorted(name for name, topic in topics.items() if -1 in topic.leaders)


def target_refuses(run: Run) -> Check:
    """Return whether the target is fenced: every leader refuses a write, and no DENY is missing."""
    # Nobody but replication writes to copies that have other names, whoever is active.
    refused = run.writes_refused(run.target, led=run.led_with_copies(run.target))
    present = run.denies_present(run.target, plan.application_denies(run.group.on(run.target)))
    found = present if refused.outcome == "ok" and not present.passes else refused
    return found.named("target_refuses")


def foreign_denies_remain(run: Run, foreign: Collection[Acl]) -> Check:
    """Return the check that fails because DENYs that this project did not add would keep the target fenced."""
    shown = "; ".join(str(acl) for acl in sorted(foreign)[:3])
    detail = (
        f"{run.target} has DENYs that this project did not add and will not lift: {shown}. Applications would stay "
        "denied: remove these DENYs"
    )
    return Check("target_can_be_opened", "failed", detail)


def writers_declared(context: GroupContext, clusters: Collection[str], *, seen: ReadCache | None = None) -> Check:
    """Return whether the fence covers every principal that may write.

    A refused probe says nothing about undeclared principals: no DENY names them.

    :param seen: topics and ACLs that the checks of a step read once; ``None`` reads them again, as a proof has to
    """
    group = context.group
    seen = seen or ReadCache(topics=context.topics, acls=lambda cluster: context.operator(cluster).acls.list())
    fenced = {*group.principals, group.probe_principal}
    passing = {group.replicator_principal, *group.super_users}
    problems = []
    if super_apps := sorted(fenced & set(group.super_users)):
        problems.append(f"{', '.join(super_apps)} is a super user, which no fence stops: remove it from super.users")
    undecided = not_by_acls(context, clusters, "whether a principal that is not declared may write there")
    for name in filter(context.decides_by_acls, clusters):
        authorizer = authorizer_of(context, name, seen.acls(name))
        topics = {*seen.topics(name), *context.copies_on(name)}
        undeclared = sorted(authorizer.writers(topics) - fenced - passing)
        if open_to_all := authorizer.without_acls(topics):
            shown = ", ".join(open_to_all[:3])
            problems.append(f"no ACL on {name} names {shown}, so its brokers let everybody write: add ACLs")
        elif EVERYONE in undeclared:
            problems.append(f"an ACL on {name} lets everybody (User:*) write: name the principals instead")
        elif undeclared:
            who = f"{', '.join(undeclared)} may write on {name} and is not among the group's principals"
            problems.append(f"{who}: remove its rights, or declare it")
    if undecided and not problems:
        return Check("writers_declared", "excused", undecided)
    good = f"every principal that may write on {' and '.join(clusters)} is declared"
    return Check.that("writers_declared", not problems, "; ".join(problems) or good)


def registers_name_this_run(run: Run) -> Sequence[Check]:
    """Return whether both registers name this run."""
    states = parallel.at_once(
        lambda: run.clients.register(run.source).read(run.group.name),
        lambda: run.clients.register(run.target).read(run.group.name),
    )
    named = zip((run.source, run.target), states, strict=True)
    others = [name for name, state in named if state is None or state.run != run.request.run]
    wrong = f"the register of {', '.join(others)} does not name run {run.request.run} for {run.group.name}"
    said = wrong if others else "both registers name this run"
    return (Check.that("register_read_back", not others, said),)

"""Whether the register is at least as strong as what it protects: who may write it, and how its topic is set.

A register has no signature: the record of any principal with WRITE counts. So only this project's own principals may
write its topics and its transactional ids, or delete or reconfigure these topics.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafka_dr import parallel
from kafka_dr.checks.authorizers import authorizer_of, not_by_acls
from kafka_dr.clusters import ResourceType
from kafka_dr.counted import counted
from kafka_dr.fencing.authorizer import Authorizer
from kafka_dr.fencing.register_writers import OWN_TOPICS, Guarded, Intruder, guarded, intruders
from kafka_dr.outcomes import Check
from kafka_dr.register import REGISTER_TOPIC
from kafka_dr.register.digests import DIGESTS_TOPIC
from kafka_dr.register.topic_settings import unlike
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.runs.read_cache import ReadCache

WRITERS, TOPIC, USABLE = "register_writers", "register_topic", "registers_usable"
_SHOWN = 5


def register_writers(context: GroupContext, clusters: Collection[str], *, seen: ReadCache | None = None) -> Check:
    """Return whether only this project's own principals may write the registers of these clusters.

    :param seen: ACLs that the checks of a step read once; ``None`` reads them again
    """
    supers = context.group.super_users
    found: list[str] = []
    undecided = not_by_acls(context, clusters, "who else may write the register there")
    for name in filter(context.decides_by_acls, clusters):
        operator = context.operator(name)
        acls = seen.acls(name) if seen else operator.acls.list()
        wanted = guarded(context.clients.topology.protection_groups.values(), operator.topics.names())
        found += [f"on {name} {one}" for one in _by_principal(authorizer_of(context, name, acls), wanted, supers)]
    operators = sorted({group.operator_principal for group in context.clients.topology.protection_groups.values()})
    if not found and undecided:
        return Check(WRITERS, "excused", undecided)
    if not found:
        said = f"on {' and '.join(clusters)} only {', '.join(operators)} may write the register"
        unseen = f"; no ACL limits the super users {', '.join(sorted(supers))}, who are not checked" if supers else ""
        return Check(WRITERS, "ok", said + unseen)
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    said = (
        f"{'; '.join(found[:_SHOWN])}{more}. Whoever writes the register decides which cluster is active; expected "
        f"only {', '.join(operators)}. Remove these rights, or deny them on the prefixes {OWN_TOPICS} (topics) and "
        "kafka-dr- (transactional ids)"
    )
    return Check(WRITERS, "failed", said)


def _by_principal(authorizer: Authorizer, wanted: Collection[Guarded], supers: Collection[str]) -> list[str]:
    """Return one sentence for each principal and kind of resource: a wildcard reaches the ids of hundreds of groups."""
    first: dict[tuple[str, ResourceType], Intruder] = {}
    count: dict[tuple[str, ResourceType], int] = {}
    for each in intruders(authorizer, wanted, super_users=supers):
        key = (each.principal, each.guarded.resource)
        first.setdefault(key, each)
        count[key] = count.get(key, 0) + 1
    return [
        f"{one}" + (f" and {count[key] - 1} more such rights" if count[key] > 1 else "") for key, one in first.items()
    ]


def register_topic(context: GroupContext, clusters: Collection[str], *, is_needed: bool = True) -> Check:
    """Return whether the registers' topics are replicated and set so that no acknowledged record is lost.

    The topic of digests is made when the first one is written, so it is not wrong that there is none.

    :param is_needed: whether it is wrong that there is no register
    """
    asked = [(name, topic) for name in clusters for topic in (REGISTER_TOPIC, DIGESTS_TOPIC)]
    found = parallel.ask_all(lambda each: _of_topic(context, *each, is_needed=is_needed), asked).values()
    wrong = [said for wrong, said in found if wrong]
    good = [said for wrong, said in found if not wrong and said]
    return Check.that(TOPIC, not wrong, "; ".join(wrong or good))


def registers_usable(context: GroupContext, clusters: Collection[str]) -> Check:
    """Return whether the registers can be read and take records now; nothing is written to find that out."""
    return usable(parallel.ask_all(lambda name: context.clients.register(name).problem(), clusters))


def usable(problems: Mapping[str, str]) -> Check:
    """Return the same of what was found out before.

    :param problems: by cluster, why its register does not work; empty if it does
    """
    wrong = "; ".join(filter(None, problems.values()))
    return Check.that(USABLE, not wrong, wrong or f"the registers of {' and '.join(problems)} take records")


def _of_topic(context: GroupContext, cluster: str, topic: str, *, is_needed: bool) -> tuple[bool, str]:
    configs = context.operator(cluster).configs
    seen = configs.overview()
    layout = seen.topics.get(topic)
    if layout is None and topic == DIGESTS_TOPIC:
        return False, ""
    if layout is None:
        return is_needed, f"{cluster} has no topic {topic}: run dr_adopt, which creates it"
    described = configs.describe([topic])
    if error := described.errors.get(topic):
        raise error
    values: Mapping[str, str | None] = {key: found.value for key, found in described.configs[topic].items()}
    return judged_topic(cluster, values, replicas=layout.replication_factor, brokers=seen.brokers, topic=topic)


def judged_topic(
    cluster: str, values: Mapping[str, str | None], *, replicas: int, brokers: int, topic: str = REGISTER_TOPIC
) -> tuple[bool, str]:
    """Return whether a topic of the register is wrong, and a sentence.

    :param values: its effective configuration
    :param replicas: the fewest replicas that a partition of it has
    :param brokers: how many brokers the cluster has now
    :param topic: the register itself, or the topic of digests
    """
    problems = []
    wanted = min(3, brokers)
    if replicas < wanted:
        problems.append(
            f"has {counted(replicas, 'replica')}, expected {wanted} with {counted(brokers, 'broker')}: add "
            f"replicas with "
            "kafka-reassign-partitions"
        )
    if differing := unlike(values, replicas=replicas, digests=topic == DIGESTS_TOPIC):
        shown = ", ".join(f"{key} is {found}, expected {value}" for key, (found, value) in differing.items())
        problems.append(f"{shown}: run dr_adopt again, which sets it")
    if problems:
        return True, f"{topic} on {cluster} {'; it '.join(problems)}"
    few = f"; with {counted(brokers, 'broker')} a single failure can stop or lose it" if brokers < 3 else ""
    return False, f"{topic} on {cluster} has {counted(replicas, 'replica')} and the settings that it needs{few}"

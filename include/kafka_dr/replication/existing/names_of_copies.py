"""How the existing replication of a group has to name copies: as the topology says, or nobody finds them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_dr.naming import DefaultNaming, Naming
from kafka_dr.replication.settings import IDENTITY

#: MirrorMaker's own default, which renames each copy.
_DEFAULT_POLICY = "org.apache.kafka.connect.mirror.DefaultReplicationPolicy"
_DEFAULT_SEPARATOR = "."


def wrong_policy(name: str, config: Mapping[str, str], naming: Naming | None) -> list[str]:
    """Return what of MirrorMaker's settings gives copies other names than the topology does, a sentence each.

    :param name: of the connector
    :param config: its settings; what is not among them has MirrorMaker's default
    :param naming: of the copies; ``None``: they have the names of their originals
    """
    policy = config.get("replication.policy.class", _DEFAULT_POLICY)
    separator = config.get("replication.policy.separator", _DEFAULT_SEPARATOR)
    if not isinstance(naming, DefaultNaming):
        if policy == IDENTITY:
            return []
        what = "only copies with the names of their originals (IdentityReplicationPolicy) can be taken over"
        fix = "Observe it as one of observed_flows"
        if policy == _DEFAULT_POLICY:
            what = "the topology declares the names of their originals"
            fix = f"Set flow.naming to default and flow.separator to {separator!r}, or observe it as an observed flow"
        return [f"{name} names copies by {policy}, and {what}. {fix}"]
    if policy != _DEFAULT_POLICY:
        fix = "Set flow.naming to identity" if policy == IDENTITY else "Observe it as one of observed_flows"
        return [f"{name} names copies by {policy}, and flow.naming is default. {fix}"]
    alias = config.get("source.cluster.alias", "")
    wrong = []
    if separator != naming.separator:
        wrong.append(
            f"{name} has {separator!r} between the names of cluster and topic (replication.policy.separator), and "
            f"flow.separator is {naming.separator!r}: correct flow.separator"
        )
    if alias != naming.source:
        wrong.append(
            f"{name} names copies by the alias {alias!r} of their cluster (source.cluster.alias), which the topology "
            f"calls {naming.source!r}: both have to be the same, so declare the cluster under that name"
        )
    return wrong


def rename_format(naming: Naming | None) -> str:
    """Return what Confluent Replicator's ``topic.rename.format`` has to be."""
    topic = "${topic}"
    return f"{naming.source}{naming.separator}{topic}" if isinstance(naming, DefaultNaming) else topic

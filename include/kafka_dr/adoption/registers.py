"""The topics of a group's registers, before anything is written to them."""

from __future__ import annotations

from kafka_dr.runs.group_context import GroupContext


def create_registers(context: GroupContext) -> None:
    """Create the register's topic on each cluster of a group, or correct the settings of one that exists."""
    for name in context.group.clusters:
        brokers = len(context.operator(name).topics.identity().brokers)
        register = context.clients.register(name)
        if not register.create(replication_factor=min(3, brokers)):
            register.correct_topic()
        context.clients.digests(name).correct_topic()

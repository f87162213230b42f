"""What a look at a flow says first if a topic of it is another one than the flow has copied."""

from __future__ import annotations

from dataclasses import replace

from kafka_dr.checks.topic_identity import same_topics
from kafka_dr.register import RegisterState
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.group_context import GroupContext


def with_same_topics(context: GroupContext, state: RegisterState, standby: str, found: WatchResult) -> WatchResult:
    """Return a look at a flow, which is wrong if a topic was deleted and created again: no lag and no canary shows it.

    :raises KafkaDrError: a cluster does not answer
    """
    check = same_topics(context, state, standby)
    return found if check.passes else replace(found, outcome="failed", sentences=(check.detail, *found.sentences))

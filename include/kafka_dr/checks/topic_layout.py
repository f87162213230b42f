"""A group's topics on a cluster, their partitions and log start offsets.

Journaled when the old cluster is fenced, and compared with that cluster at the end of the run. A principal that the
fence does not cover may have changed topics in between: a topic that was deleted would be missing at the failback.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from kafka_dr import parallel
from kafka_dr.clusters import Topic, TopicPartition
from kafka_dr.codec import Rows, StoredDocument
from kafka_dr.counted import counted
from kafka_dr.errors import KafkaDrError
from kafka_dr.outcomes import Check, CheckOutcome
from kafka_dr.runs import background
from kafka_dr.runs.record import first_few
from kafka_dr.runs.run import Run

NAME = "old_cluster_unchanged"
#: The settings that say what retention deletes.
_RETENTION = ("cleanup.policy", "retention.bytes", "retention.ms")
#: The timeout of reading the old cluster.
_SECONDS = 10.0
#: After a longer time it is not known what retention has deleted.
_RETENTION_KNOWN = timedelta(minutes=10)
#: How many a message names; the facts hold all.
_MOST_NAMED = 5

Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class GroupLayout(StoredDocument):
    """A group's topics on a cluster at a moment.

    :param topics: topic id and number of partitions of each topic
    :param starts: log start offsets
    :param lasting: the first offset that retention could not delete yet; missing if that is not known, because
        retention is by size, or because every record is old enough to be deleted
    """

    at: datetime
    topics: Annotated[Mapping[str, tuple[str, int]], Rows("topic", "shape")]
    starts: Offsets
    lasting: Offsets

    @classmethod
    def seen(cls, run: Run, cluster: str) -> GroupLayout:
        """Read the layout of a cluster now."""
        at, topics, seen = run.clock.now(), run.topics(cluster), run.operator(cluster).topics
        starts, configs = parallel.at_once(
            lambda: seen.log_starts([p for topic in topics.values() for p in topic.partitions]),
            lambda: seen.settings(topics, _RETENTION),
        )
        shapes = {name: (topic.topic_id, len(topic.partitions)) for name, topic in topics.items()}
        return cls(at, shapes, starts, _lasting(run, cluster, topics, configs, starts, at))


@dataclass(frozen=True, slots=True)
class LayoutChanges:
    """How a layout differs from an earlier one.

    :param certainly: what somebody changed
    :param perhaps: log start offsets that are later than before, maybe because of retention
    """

    certainly: tuple[str, ...] = ()
    perhaps: tuple[str, ...] = ()


def compare(before: GroupLayout, now: GroupLayout, elsewhere: Mapping[str, int]) -> LayoutChanges:
    """Return how a cluster's layout differs from an earlier one.

    :param elsewhere: the number of partitions of each topic on the cluster that is replicated to this one by now:
        what is the same there was made by replication
    """
    gone = [f"{name} was deleted" for name in sorted(before.topics.keys() - now.topics.keys())]
    shapes = [said for name in sorted(now.topics) if (said := _otherwise(name, before, now, elsewhere.get(name)))]
    certainly: list[str] = []
    perhaps: list[str] = []
    for partition, start in sorted(now.starts.items()):
        former = before.starts.get(partition, start)
        if start > former and before.topics[partition.topic][0] == now.topics[partition.topic][0]:
            explained = now.at - before.at > _RETENTION_KNOWN or start <= before.lasting.get(partition, start)
            (perhaps if explained else certainly).append(
                f"the log start offset of {partition} is {start}, was {former}"
            )
    return LayoutChanges((*gone, *shapes, *certainly), tuple(perhaps))


def _otherwise(name: str, before: GroupLayout, now: GroupLayout, elsewhere: int | None) -> str:
    """Return how a topic changed; empty if it did not, or if replication made the change."""
    topic_id, partitions = now.topics[name]
    if name not in before.topics:
        return "" if elsewhere is not None else f"{name} was created and is on no other cluster"
    former_id, former = before.topics[name]
    if topic_id != former_id:
        return f"{name} was deleted and created again"
    return "" if partitions in (former, elsewhere) else f"{name} has {counted(partitions, 'partition')}, had {former}"


def old_cluster_unchanged(run: Run) -> Check:
    """Return whether the old cluster has the topics, partitions and log start offsets that it was fenced with."""
    journaled = run.journal.get("drained", {}).get("layout")
    if journaled is None:
        return Check(NAME, "excused", f"the topics of {run.source} were not journaled: it did not answer in time")
    before = GroupLayout.from_json(journaled)
    try:
        now = background.ask(run.source, lambda: GroupLayout.seen(run, run.source), seconds=_SECONDS)
        elsewhere = {name: len(topic.partitions) for name, topic in run.topics(run.target).items()}
    except KafkaDrError as error:
        return Check(NAME, "excused", f"the topics of {run.source} could not be read: {error}")
    return judged(run.source, compare(before, now, elsewhere), topics=len(before.topics))


def judged(cluster: str, changed: LayoutChanges, *, topics: int) -> Check:
    """Return the check for a comparison of two layouts."""
    facts = {"changed": list(changed.certainly), "perhaps_by_retention": list(changed.perhaps)}
    outcome: CheckOutcome = "failed" if changed.certainly else "excused" if changed.perhaps else "ok"
    if changed.certainly:
        said = (
            f"{cluster} changed after it was fenced: {_shown(changed.certainly)}. A principal that the fence does not "
            f"cover did that: find out which one (changers_declared names those that may) before {cluster} becomes "
            "active again"
        )
    elif changed.perhaps:
        said = f"on {cluster} {_shown(changed.perhaps)}: retention may have deleted these records"
    else:
        many = counted(topics, "topic has", "topics have")
        said = f"on {cluster} {many} the partitions and log start offsets that they were fenced with"
    return Check(NAME, outcome, said, facts)


def _lasting(
    run: Run,
    cluster: str,
    topics: Mapping[str, Topic],
    configs: Mapping[str, Mapping[str, str]],
    starts: Offsets,
    at: datetime,
) -> dict[TopicPartition, int]:
    """Return the first offset that retention cannot have deleted: of the whole log, or of its young records."""
    lasting: dict[TopicPartition, int] = {}
    asked: dict[TopicPartition, int] = {}
    for name, topic in topics.items():
        config = configs.get(name, {})
        by_time, by_size = int(config.get("retention.ms", 0)), int(config.get("retention.bytes", 0))
        if "delete" not in config.get("cleanup.policy", "delete") or (by_time < 0 and by_size < 0):
            lasting |= {partition: starts[partition] for partition in topic.partitions}
        elif by_size < 0:
            oldest = int(at.timestamp() * 1000) - by_time
            asked |= dict.fromkeys(topic.partitions, max(0, oldest))
    found = run.operator(cluster).offsets_by_time.at_each(asked)
    return lasting | {partition: offset for partition, offset in found.items() if offset is not None}


def _shown(said: tuple[str, ...]) -> str:
    return "; ".join(first_few(said, _MOST_NAMED))

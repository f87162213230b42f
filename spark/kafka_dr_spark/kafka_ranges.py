"""Records of exact offset ranges, read by Spark's Kafka source. Offsets are resolved numbers, never words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import zip_longest

from pyspark.sql import DataFrame, SparkSession

#: By topic and partition, offsets ``start <= offset < end``; several of one partition do not overlap.
Ranges = Mapping[tuple[str, int], Sequence[tuple[int, int]]]

#: The audit principal has rights for groups of this name. No offset is committed, and no consumer joins the group.
_GROUP_PREFIX = "dr-audit"


def read_ranges(session: SparkSession, access: Mapping[str, str], ranges: Ranges) -> DataFrame:
    """Return the committed records of the ranges, with headers.

    A record that the log no longer holds is left out: the question is how much the ranges hold, not whether it is
    complete.

    :param access: how to reach the cluster, as options of Spark's Kafka source
    :param ranges: at least one
    """
    # One reader takes one range of a partition; a range after a gap needs another reader.
    rounds = zip_longest(*([(place, each) for each in wanted] for place, wanted in sorted(ranges.items())))
    return reduce(DataFrame.unionAll, (_read(session, access, [each for each in found if each]) for found in rounds))


def _read(
    session: SparkSession, access: Mapping[str, str], ranges: Sequence[tuple[tuple[str, int], tuple[int, int]]]
) -> DataFrame:
    partitions: dict[str, list[int]] = {}
    starts: dict[str, dict[str, int]] = {}
    ends: dict[str, dict[str, int]] = {}
    for (topic, partition), (start, end) in ranges:
        partitions.setdefault(topic, []).append(partition)
        starts.setdefault(topic, {})[str(partition)] = start
        ends.setdefault(topic, {})[str(partition)] = end
    options = {
        **access,
        "assign": json.dumps(partitions),
        "startingOffsets": json.dumps(starts),
        "endingOffsets": json.dumps(ends),
        "includeHeaders": "true",
        "failOnDataLoss": "false",
        "groupIdPrefix": _GROUP_PREFIX,
        "kafka.isolation.level": "read_committed",
        "kafkaConsumer.pollTimeoutMs": "20000",
    }
    return session.read.format("kafka").options(**options).load()

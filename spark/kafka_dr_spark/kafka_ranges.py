"""Records of exact offset ranges, by Spark's Kafka source. Offsets are numbers, resolved before, never words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import zip_longest

from pyspark.sql import DataFrame, SparkSession

#: By topic and partition, offsets ``start <= offset < end``; several of one partition do not overlap.
Ranges = Mapping[tuple[str, int], Sequence[tuple[int, int]]]

#: The audit principal's rights reach groups of this name. Nothing is committed and nobody joins.
_GROUP_PREFIX = "dr-audit"


def read_ranges(session: SparkSession, access: Mapping[str, str], ranges: Ranges) -> DataFrame:
    """Return the committed records of the ranges, with headers.

    A record that the log no longer holds is left out: what is asked here is how much there is, not whether all is.

    :param access: how to reach the cluster, as options of Spark's Kafka source
    :param ranges: at least one
    """
    # One reader takes one range of a partition; what lies behind a gap needs another reader.
    rounds = zip_longest(*([(place, each) for each in wanted] for place, wanted in sorted(ranges.items())))
    return reduce(DataFrame.unionAll, (_read(session, access, [each for each in found if each]) for found in rounds))


def _read(
    session: SparkSession, access: Mapping[str, str], ranges: Sequence[tuple[tuple[str, int], tuple[int, int]]]
) -> DataFrame:
    places: dict[str, list[int]] = {}
    starts: dict[str, dict[str, int]] = {}
    ends: dict[str, dict[str, int]] = {}
    for (topic, partition), (start, end) in ranges:
        places.setdefault(topic, []).append(partition)
        starts.setdefault(topic, {})[str(partition)] = start
        ends.setdefault(topic, {})[str(partition)] = end
    options = {
        **access,
        "assign": json.dumps(places),
        "startingOffsets": json.dumps(starts),
        "endingOffsets": json.dumps(ends),
        "includeHeaders": "true",
        "failOnDataLoss": "false",
        "groupIdPrefix": _GROUP_PREFIX,
        "kafka.isolation.level": "read_committed",
        "kafkaConsumer.pollTimeoutMs": "20000",
    }
    return session.read.format("kafka").options(**options).load()

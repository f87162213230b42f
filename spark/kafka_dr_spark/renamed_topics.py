"""Records of a cluster that has other names for topics, under the names that the rest of the audit knows."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as f


def renamed(records: DataFrame, names: Mapping[str, str]) -> DataFrame:
    """Return records with other names of their topics; a topic without another name keeps its own.

    A broadcast join: what it costs does not depend on how many topics there are.

    :param records: as Spark's Kafka source reads them
    :param names: by the new name of a topic, the name by which the cluster knows it
    """
    rows = [(own, name) for name, own in names.items()]
    wanted = records.sparkSession.createDataFrame(rows, "topic string, new_topic string")
    joined = records.join(f.broadcast(wanted), "topic", "left")
    return joined.withColumn("topic", f.coalesce("new_topic", "topic")).drop("new_topic")

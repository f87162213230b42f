"""MirrorMaker's own classes decide whether its two policies are understood."""

from __future__ import annotations

import os
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from kafka_dr.naming import DefaultNaming, IdentityNaming, Naming

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark]

_MIRROR = "org.apache.kafka.connect.mirror"
_PARTS = ("", "a", "b", "topic", "heartbeats", "__x", "mm2-x", "internal", "checkpoints")
_ENDINGS = ("heartbeats", "xheartbeats", "internal", "checkpoints.internal", "checkpoints_internal", "a.", "b..", "B")


@pytest.fixture(scope="module")
def loader(spark: SparkSession) -> Any:
    """MirrorMaker's classes, apart from Spark's, which has a Kafka client of another version.

    One for all tests: Py4J keeps the methods of a class by its name.
    """
    from lab import jars
    from lab.bootstrap import cache_folder

    folder = jars.obtain(jars.KAFKA, cache=cache_folder(os.environ), environ=os.environ, progress=lambda *_: None)
    jvm: Any = spark._jvm
    found = sorted(folder.glob("*.jar"))
    urls = spark.sparkContext._gateway.new_array(jvm.java.net.URL, len(found))  # type: ignore[union-attr]
    for number, path in enumerate(found):
        urls[number] = jvm.java.io.File(str(path)).toURI().toURL()
    return jvm.java.net.URLClassLoader(urls, jvm.java.lang.ClassLoader.getPlatformClassLoader())


class NameJudge:
    """MirrorMaker's source connector, as it is: nothing is started, and it is only asked for names."""

    def __init__(self, spark: SparkSession, loader: Any, policy: str, separator: str) -> None:
        self._loader, self._gateway = loader, spark.sparkContext._gateway
        self._object: Any = spark._jvm.java.lang.Object  # type: ignore[union-attr]
        self.policy = self._new(policy)
        self.policy.configure({"replication.policy.separator": separator, "source.cluster.alias": "a"})
        direction = self._new("SourceAndTarget", "a", "b")
        self._connector = self._new("MirrorSourceConnector", direction, self.policy, None, None)
        methods = self._connector.getClass().getDeclaredMethods()
        self._is_cycle = next(each for each in methods if each.getName() == "isCycle")
        self._is_cycle.setAccessible(True)

    def _new(self, name: str, *arguments: Any) -> Any:
        found = self._loader.loadClass(f"{_MIRROR}.{name}")
        constructor = next(c for c in found.getDeclaredConstructors() if c.getParameterCount() == len(arguments))
        constructor.setAccessible(True)
        return constructor.newInstance(self._array(arguments))

    def _array(self, values: Any) -> Any:
        array = self._gateway.new_array(self._object, len(values))  # type: ignore[union-attr]
        for number, value in enumerate(values):
            array[number] = value
        return array

    def copy_of(self, topic: str) -> str | None:
        if self.policy.isInternalTopic(topic) or self._is_cycle.invoke(self._connector, self._array([topic])):
            return None
        return str(self.policy.formatRemoteTopic("a", topic))


def names(separator: str) -> list[str]:
    joined = {separator.join(parts) for parts in product(_PARTS, repeat=2)}
    return sorted({f"{name}{separator}{end}" for name in joined for end in _ENDINGS} | joined | set(_ENDINGS) - {""})


@pytest.mark.parametrize(
    ("policy", "naming"),
    [
        *(("DefaultReplicationPolicy", DefaultNaming("a", "b", separator=s)) for s in (".", "_", "--")),
        ("IdentityReplicationPolicy", IdentityNaming("a", "b")),
        ("IdentityReplicationPolicy", IdentityNaming("a", "b", separator="_")),
    ],
    ids=str,
)
def test_each_topic_gets_the_name_that_mirrormaker_gives_it(
    spark: SparkSession, loader: Any, policy: str, naming: DefaultNaming | IdentityNaming
) -> None:
    judge = NameJudge(spark, loader, policy, naming.separator)
    asked = names(naming.separator)
    wrong = {topic: (ours, its) for topic in asked if (ours := naming.copy_of(topic)) != (its := judge.copy_of(topic))}
    assert wrong == {}
    assert naming.checkpoints_topic == judge.policy.checkpointsTopic("a")


@pytest.mark.parametrize("policy", ["DefaultReplicationPolicy", "IdentityReplicationPolicy"])
def test_the_original_of_a_copy_is_the_one_that_mirrormaker_says(spark: SparkSession, loader: Any, policy: str) -> None:
    judge = NameJudge(spark, loader, policy, ".")
    naming: Naming = DefaultNaming("a", "b") if policy.startswith("Default") else IdentityNaming("a", "b")
    found = {copy: naming.original_of(copy) for topic in names(".") if (copy := judge.copy_of(topic))}
    assert len(found) > 100
    # MirrorMaker takes any text before a separator for an alias, and drops a separator at the end of a name.
    judged = {copy for copy in found if judge.policy.topicSource(copy) == "a"}
    assert len(judged) > 100
    assert {copy for copy in judged if judge.policy.upstreamTopic(copy) != found[copy]} == set()

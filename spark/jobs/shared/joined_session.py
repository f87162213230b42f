"""A Spark session of a JVM that another process has started: each audit of an application has one.

Spark's own Python connects to the JVM that ``spark-submit`` started, at the port that it names in the environment, and
any process with that environment can.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from jobs.session import Sessions

#: Where spark-submit says how its JVM is reached.
GATEWAY_PORT = "PYSPARK_GATEWAY_PORT"


def joined_sessions(started: Callable[[], object], announce: Callable[[str], None]) -> Sessions:
    """Return what lends a session of its own to this process. Spark continues when the process ends.

    :param started: returns when the application's Spark has started
    :param announce: is given the tag of all of the session's jobs, by which another process can cancel them
    """

    @contextmanager
    def lent(_name: str) -> Iterator[SparkSession]:
        started()
        os.umask(0o077)
        gateway = launch_gateway()  # type: ignore[no-untyped-call]
        jvm = gateway.jvm
        java_context = jvm.org.apache.spark.api.java.JavaSparkContext(jvm.org.apache.spark.SparkContext.getOrCreate())
        context = SparkContext(gateway=gateway, jsc=java_context, conf=SparkConf(_jconf=java_context.getConf()))
        session = SparkSession(context).newSession()
        announce(session._jsparkSession.sessionJobTag())
        yield session

    return lent

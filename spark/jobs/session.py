"""The Spark session of every job, and what every job does about an error.

Kafka is read by the v2 path: records come as rows straight from the consumer. Secrets are options of a reader and
nothing else; what could still show them, plans and the UI, blanks them out.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_dr.causes import cause, java_cause, mistake
from kafka_dr.errors import KafkaDrError

#: The exit code of a job that could not find out: nothing was judged.
UNKNOWN = 2
#: Names of settings whose values are blanked out wherever Spark shows settings.
_BLANKED = r"(?i)secret|password|token|access[.]?key|jaas|[.]ssl[.]key|keystore"
SETTINGS: Mapping[str, str] = {
    "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",
    "spark.sql.session.timeZone": "UTC",
    # No ACL of Kafka protects a file of records: where files have modes, they are for this user alone.
    "spark.hadoop.fs.permissions.umask-mode": "077",
    "spark.ui.showConsoleProgress": "false",
    # Parts of a union that are one task each stay so; by default they become one task for all of them.
    "spark.sql.unionOutputPartitioning": "false",
    "spark.redaction.regex": _BLANKED,
    "spark.sql.redaction.options.regex": _BLANKED + "|url",
    "spark.redaction.string.regex": r'(?i)(password|username)="(\\.|[^"\\])*"',
    # Each query reads with a group of its own, so a consumer is never used twice; idle ones only hold memory, and what
    # they fetched last may be tens of megabytes each. By default the next look for idle ones is a minute away.
    "spark.kafka.consumer.cache.capacity": "64",
    "spark.kafka.consumer.cache.timeout": "2s",
    "spark.kafka.consumer.cache.evictorThreadRunInterval": "2s",
    "spark.kafka.consumer.fetchedData.cache.timeout": "2s",
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "2s",
}

#: Lends a Spark session of that name.
Sessions = Callable[[str], AbstractContextManager[SparkSession]]


@contextmanager
def spark_session(application: str, *, settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Lend a session with the settings that every job needs; it is stopped afterwards.

    The master, the memory and the jars are set by ``spark-submit``; the Kafka source has to be on the class path.

    :param application: the application's name in Spark's UI
    :param settings: more of Spark's settings, no secrets among them
    """
    session = _started(application, settings or {})
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def session_begun(job: str, arguments: Sequence[str]) -> Iterator[Sessions]:
    """Begin to start a session, and lend a function that returns it later.

    The JVM needs seconds to start. Meanwhile this process imports its modules and asks the clusters.

    :param job: its name; the flow that the arguments name is added
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--flow", default="?")
    flow = parser.parse_known_args(arguments)[0].flow
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(_started, f"{job} of {flow}", {})

        @contextmanager
        def lent(_name: str) -> Iterator[SparkSession]:
            yield starting.result()

        try:
            yield lent
        finally:
            if starting.exception() is None:
                starting.result().stop()


def _started(application: str, settings: Mapping[str, str]) -> SparkSession:
    # The driver's own files, which Hadoop does not write.
    os.umask(0o077)
    builder = SparkSession.builder.appName(application)
    for name, value in {**SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def exit_code(job: Callable[[], int]) -> int:
    """Run a job; if it fails, print one sentence that says why.

    :returns: the job's exit code; :data:`UNKNOWN` if it was refused, or if a system did not answer
    """
    try:
        return job()
    except KafkaDrError as error:
        print(f"unknown: {error}", file=sys.stderr)
    except (PySparkException, Py4JJavaError) as error:
        print(f"unknown: Spark could not finish: {cause_of(error)}", file=sys.stderr)
    except Exception as error:  # noqa: BLE001 - Python's own exit code would be 1, which says that something was found
        if isinstance(error, OSError) and error.filename is not None:
            print(f"unknown: {error.filename}: {cause(error)}", file=sys.stderr)
        else:  # a mistake of ours, to be seen whole
            traceback.print_exc()
            print(f"unknown: {mistake(error)}", file=sys.stderr)
    return UNKNOWN


def cause_of(error: Exception) -> str:
    """Return the first line of the original error, which may be one of Spark's JVM."""
    java = getattr(error, "java_exception", None)
    while java is not None and java.getCause() is not None:
        java = java.getCause()
    return java_cause((str(error) if java is None else str(java.toString())).strip().partition("\n")[0])

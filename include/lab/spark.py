"""What lets ``spark-submit`` run on this machine with nothing but the lab's Python: a Java, the Kafka source, settings.

Everything is in a folder that ``SPARK_CONF_DIR`` names, so a command line needs no arguments for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from lab import jars
from lab.bootstrap import INCLUDE
from lab.credentials import write_private
from lab.java import spark_java_home
from lab.layout import LOOPBACK, Home

#: As a set-up for a company has it.
_LOGGING = INCLUDE / "kafka_dr" / "set_up" / "templates" / "log4j2.properties"
DRIVER_MEMORY = "1g"
#: In local mode a heartbeat that comes before all of Spark has started asks for a scheduler that clusters have, and
#: each time that is two long stack traces. The first one comes after this long, and before twice as long; by default
#: that is 10 s, and a busy machine takes longer to start. What is silent for 120 s is given up.
HEARTBEAT = "40s"
#: One machine of few cores. A collector that runs at the same time as the work slows it down; so does the compiler that
#: makes the fastest code, which by default looks at all that Spark does a few thousand times while it starts.
_JAVA_OPTIONS = (
    "-XX:+UseParallelGC -Xshare:auto -XX:MetaspaceSize=192m "
    "-XX:Tier4InvocationThreshold=40000 -XX:Tier4MinInvocationThreshold=5000 "
    "-XX:Tier4CompileThreshold=120000 -XX:Tier4BackEdgeThreshold=320000"
)


def prepare(
    home: Home, *, java_home: Path, cache: Path, environ: Mapping[str, str], where: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Get Spark's Kafka source, and write Spark's settings into the lab's folder.

    :param java_home: a real Java
    :param cache: where the locked jars are kept
    :param environ: may name a mirror of Maven Central
    :param where: the settings of a Spark cluster, a secret among them; by default jobs run in the driver's own process
    :returns: the environment in which ``spark-submit`` and ``pyspark`` find all of it; no secrets
    """
    kafka_source = jars.obtain(jars.SPARK_KAFKA, cache=cache, environ=environ, progress=lambda _there, _all: None)
    folder = home.spark
    folder.mkdir(parents=True, exist_ok=True)
    on_class_path = os.pathsep.join(str(jar) for jar in sorted(kafka_source.glob("*.jar")))
    settings = {
        "spark.master": "local[*]",
        # On the class path from the start: what is listed as spark.jars is copied to every executor, also to the
        # driver's own, each time.
        "spark.driver.extraClassPath": on_class_path,
        "spark.executor.extraClassPath": on_class_path,
        "spark.driver.memory": DRIVER_MEMORY,
        "spark.driver.extraJavaOptions": _JAVA_OPTIONS,
        "spark.executor.heartbeatInterval": HEARTBEAT,
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **(where or {}),
    }
    text = "".join(f"{name} {value}\n" for name, value in settings.items())
    defaults = folder / "spark-defaults.conf"
    if where:  # with a secret
        write_private(defaults, text)
    else:
        defaults.write_text(text)
    (folder / _LOGGING.name).write_text(_LOGGING.read_text("utf-8"))
    return {
        "JAVA_HOME": str(spark_java_home(home.spark_java, java_home)),
        "SPARK_CONF_DIR": str(folder),
        "SPARK_LOCAL_IP": LOOPBACK,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def compiled_in(cache: Path) -> dict[str, str]:
    """Return the environment in which Python keeps what it has compiled of the jobs and their libraries.

    A job that is run by hand is a process of its own, and where Python may write nothing next to the sources it
    would compile thousands of files again each time. Nothing is written next to them here, either.
    """
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(cache / "compiled")}

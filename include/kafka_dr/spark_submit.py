"""How ``spark-submit`` is found, and the Python of the jobs that it runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

#: Spark's Kafka source, which every job needs on its class path: what ``spark.jars.packages`` downloads.
KAFKA_SOURCE = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
_DRIVER = "PYSPARK_DRIVER_PYTHON"


def spark_submit_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what an environment needs so that ``spark-submit`` runs, and drivers have the Python of this process.

    pip puts both next to this Python, which a service may start by its path alone. A Spark that is on ``PATH``, or a
    Python that the environment names, comes first.
    """
    path = environ.get("PATH", os.defpath)
    found = {"PATH": os.pathsep.join((path, str(Path(sys.executable).parent)))}
    return found if {_DRIVER, "PYSPARK_PYTHON"} & environ.keys() else {**found, _DRIVER: sys.executable}

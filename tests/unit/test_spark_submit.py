"""Where ``spark-submit`` is looked for, and the Python of the jobs that it runs."""

from __future__ import annotations

import sys
from pathlib import Path

from packaging.requirements import Requirement

from kafka_dr.project import PROJECT
from kafka_dr.spark_submit import KAFKA_SOURCE, spark_submit_environ
from lab.jars import SPARK_KAFKA

_HERE = str(Path(sys.executable).parent)


def test_what_the_machine_has_comes_before_what_pip_put_next_to_this_python() -> None:
    assert spark_submit_environ({"PATH": "/opt/spark/bin"}) == {
        "PATH": f"/opt/spark/bin:{_HERE}",
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def test_a_python_that_somebody_chose_is_kept() -> None:
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        assert list(spark_submit_environ({"PATH": "", name: "/opt/python"})) == ["PATH"]


def test_the_kafka_source_is_that_of_the_spark_that_is_required() -> None:
    lines = (PROJECT / "requirements.txt").read_text("utf-8").splitlines()
    needed = {Requirement(each.partition("#")[0].strip()) for each in lines if each.startswith("pyspark")}
    assert {str(each.specifier) for each in needed} == {f"=={KAFKA_SOURCE.rpartition(':')[2]}"}
    assert KAFKA_SOURCE in SPARK_KAFKA.read_text("utf-8").split()
    assert KAFKA_SOURCE in (PROJECT / "include" / "guide" / "install.md").read_text("utf-8")

"""An Airflow home of the tests' own, without a database: connections come from the environment."""

from __future__ import annotations

import os
import tempfile

# Airflow reads its settings when it is first imported, which the test modules do.
_HOME = tempfile.TemporaryDirectory(prefix="kafka-dr-airflow-home-")
os.environ.setdefault("AIRFLOW_HOME", _HOME.name)
os.environ.setdefault("AIRFLOW__LOGGING__LOGGING_LEVEL", "WARNING")

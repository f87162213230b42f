"""``python -m kafka_dr``: what can be done when Airflow is not there, or not trusted."""

from __future__ import annotations

from kafka_dr.command_line.app import app

app(prog_name="python -m kafka_dr")

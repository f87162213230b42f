"""Airflow's side of Kafka disaster recovery: hooks, operators, the approval, and what DAG files are wired from.

Nothing here decides anything about Kafka; :mod:`kafka_dr` does. Modules that a DAG file imports stay light, since
every task parses its DAG again: what talks to Kafka is imported when a task runs.
"""

from __future__ import annotations

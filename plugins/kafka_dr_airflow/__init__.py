"""What Kafka disaster recovery needs of Airflow: hooks, operators, approvals, trigger forms and evidence pages.

Nothing in this package decides anything about Kafka; :mod:`kafka_dr` does. Every task parses its DAG file again, so
modules that a DAG file imports must import quickly: clients of Kafka are imported when a task runs.
"""

from __future__ import annotations

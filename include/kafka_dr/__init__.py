"""The core of Kafka disaster recovery: no Airflow, no Spark; its rooms are things of the domain."""

from __future__ import annotations

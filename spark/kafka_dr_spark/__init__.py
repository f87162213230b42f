"""Spark data frames: what is read from Kafka, and what is computed from it before it comes to the driver."""

from __future__ import annotations

from kafka_dr_spark.one_view import global_view

__all__ = ["global_view"]

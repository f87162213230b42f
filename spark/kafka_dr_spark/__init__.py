"""Spark data frames: what is read from Kafka, and what is computed from it before it comes to the driver."""

from __future__ import annotations

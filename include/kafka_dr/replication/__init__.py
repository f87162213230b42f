"""Flows: replication of a protection group from its active cluster to a standby."""

from __future__ import annotations

from kafka_dr.replication.flow import Flow

#: The word that every room shares.
__all__ = ["Flow"]

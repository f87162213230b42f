"""The whole story in one command: two datacenters, applications, a planned failover through Airflow, and a verdict."""

from __future__ import annotations

"""Real, secured Kafka datacenters with Connect and Airflow on one machine; ``lab.api`` is the door for programs."""

from __future__ import annotations

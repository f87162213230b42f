"""The file in which a test finds a group's route."""

from __future__ import annotations

from pathlib import Path

from kafka_dr.topology.model import ProtectionGroup
from kafka_dr.topology.route import FileRouteSpec


def route_file(group: ProtectionGroup) -> Path:
    """Return the file of a group whose route is kept in one."""
    assert isinstance(group.route, FileRouteSpec)
    return Path(group.route.path)

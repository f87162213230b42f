"""What a child process is asked: which look, at which groups, and how long it may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from kafka_dr.health.own_speed import OwnSpeed
from kafka_dr.rounds.access_data import AccessData
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.clients import Clients
from kafka_dr.topology.model import Topology


@dataclass(frozen=True, slots=True)
class ShardRequest:
    """What one child process has to do.

    :param look: where the look is, as ``module:function``
    :param run: the run of the watch's DAG
    :param settings: what a look needs to know of its run, as plain values
    :param evidence_root: its path as text; the files are reached through the parent
    :param group_seconds: how long the look at one group may take
    :param seconds: how long all of it may take
    :param finds_people: whether the parent finds people; without it a name is also the id, and nobody has a role
    """

    look: str
    groups: tuple[str, ...]
    run: str
    settings: dict[str, Any]
    topology: Topology
    access: AccessData
    evidence_root: str
    group_seconds: float
    seconds: float
    finds_people: bool = False


@dataclass(frozen=True, slots=True)
class LookTools:
    """What a look at a group works with; the groups of one process share it.

    :param run: the run of the watch's DAG
    :param settings: what the look needs to know of its run, as plain values
    :param speed: of this process
    :param seconds: how long the look may take
    """

    clients: Clients
    run: str
    settings: dict[str, Any]
    speed: OwnSpeed
    seconds: float


Look = Callable[[str, LookTools], WatchResult]


def look_named(name: str) -> Look:
    """Return a look.

    :param name: ``module:function``
    """
    module, _, function = name.partition(":")
    return cast("Look", getattr(import_module(module), function))


def unknown(group: str, why: str) -> WatchResult:
    """Return the result of a group that was not looked at to the end."""
    return WatchResult(group, "unknown", (why,))

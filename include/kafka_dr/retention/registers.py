"""What the registers say about a group before anything of it is erased."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.register import RegisterState
from kafka_dr.runs import background
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.register_read import NEEDED_SECONDS, decided

#: Everything that a register holds about a group, by run and fact.
History = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class GroupRegisters:
    """The registers of a group's clusters.

    :param state: the record of the register that decides
    :param histories: what each register that answers has journaled, by cluster, the deciding one last
    :param silent: the clusters whose register does not answer
    """

    state: RegisterState
    histories: Mapping[str, History]
    silent: tuple[str, ...] = ()

    def facts(self, run: str) -> tuple[Mapping[str, Any], ...]:
        """Return what each register that answers has journaled of a run."""
        return tuple(found.get(run, {}) for found in self.histories.values())


def read_registers(clients: Clients, group: str) -> GroupRegisters:
    """Read the registers of a group's clusters at once.

    :raises Refused: the group is not adopted
    :raises NeedsPerson: the register that decides does not answer
    """

    def ask(cluster: str) -> tuple[RegisterState | None, History]:
        register = clients.register(cluster)
        return register.read(group), register.history(group)

    clusters = clients.topology.group(group).clusters
    answers = background.answers_within({name: partial(ask, name) for name in clusters}, seconds=NEEDED_SECONDS)
    states = {name: each if isinstance(each, KafkaDrError) else each[0] for name, each in answers.items()}
    state = decided(group, states)
    if state is None:
        raise Refused(f"no register has a record of {group}: nothing was left by a failover of it")
    found = {name: each[1] for name, each in answers.items() if not isinstance(each, KafkaDrError)}
    silent = tuple(name for name in clusters if name not in found)
    return GroupRegisters(state, {**found, state.active: found.pop(state.active, {})}, silent)

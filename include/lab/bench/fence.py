"""Which operations the fences of a benchmark's group deny, so that both ways are measured with the same load."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Literal

from kafka_dr.fencing.plan import application_denies, change_fence
from kafka_dr.health.health_check import check_health
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.group_context import GroupContext
from kafka_dr.topology.model import Topology
from lab.clusters import PROTECTION_GROUP
from lab.errors import LabError

#: One look announces, each one after that replaces up to a thousand; the last one finds nothing to replace.
_LOOKS = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the option that chooses."""
    parser.add_argument(
        "--fence-operations", choices=("listed", "all"), default="listed", help="what the group's fences deny"
    )


@dataclass(frozen=True, slots=True)
class FenceOperations:
    """What a group's fences deny, as its topology declares it."""

    denied: Literal["listed", "all"]

    def declared(self, topology: Topology) -> Topology:
        """Return the topology that says so."""
        group = topology.protection_groups[PROTECTION_GROUP].model_copy(update={"fence_operations": self.denied})
        return topology.model_copy(
            update={"protection_groups": {**topology.protection_groups, PROTECTION_GROUP: group}}
        )

    def settle(self, clients: Clients) -> None:
        """Let the standby's fence become what is declared, as *DR 7: health* does it; later runs keep it so.

        :raises LabError: it did not become so
        """
        if self.denied == "listed":
            return
        for _ in range(_LOOKS):
            found = check_health(PROTECTION_GROUP, clients)
            context = GroupContext(PROTECTION_GROUP, clients)
            state = context.read_register_state()
            if state is None:
                raise LabError(f"no register has a record of {PROTECTION_GROUP}")
            listed = application_denies(context.group) | change_fence(context.group)
            if not listed & frozenset(clients.cluster(state.standby, "operator").acls.list()):
                return
        raise LabError(f"health did not replace the DENYs of single operations in {_LOOKS} looks: {found.summary}")

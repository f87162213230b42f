"""The fields of trigger forms. Names come from the topology; if it cannot be read, the DAGs load all the same."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from airflow.sdk import Param

from kafka_dr.errors import KafkaDrError
from kafka_dr.watch_results import CONFLICTS, OBSERVATION, STRETCH, WATCHES, Pace, WatchName
from kafka_dr_airflow.topology_file import read_topology

_UNREADABLE = "The topology cannot be read, so this field offers no choices. The first task says what is wrong with it."

_NO_GROUP = (
    "The topology declares no protection group, so there is nothing that this DAG could change. Observed flows are "
    "looked at by dr_observe, stretch clusters by dr_stretch."
)


@dataclass(frozen=True, slots=True)
class Declared:
    """The names that a trigger form offers.

    :param flows: every direction that replication can have, as ``group.source-to-target``, and observed flows
    :param paces: how closely the groups are watched
    :param overridden: the groups whose rule for a disaster can never hold with the vantages that are declared
    :param drills: whether drills of a group begin by themselves
    :param drilled: the groups that may be drilled
    :param observed: the flows that are observed alone
    :param stretched: the clusters that are spread over sites
    :param conflicting: the blocks whose conflicts are audited
    :param readable: whether the topology could be read; without it the form takes free text
    """

    groups: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    flows: tuple[str, ...] = ()
    readable: bool = False
    paces: frozenset[Pace] = frozenset()
    drills: bool = False
    drilled: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()
    overridden: tuple[str, ...] = ()
    stretched: tuple[str, ...] = ()
    conflicting: tuple[str, ...] = ()

    def override_hint(self) -> str:
        """Say which groups need an override in any case; empty if none does."""
        if not self.overridden:
            return ""
        return f" Needed for {', '.join(self.overridden)}: the topology declares fewer vantages than the rule needs."

    def schedule(self, watch: WatchName) -> str:
        """Return when the DAG of a watch runs: as often as the group that is watched most closely asks for."""
        return WATCHES[watch].cron(self.paces)

    def drill_schedule(self) -> str | None:
        """Return how often it is looked whether a drill is due; ``None`` if none begins by itself."""
        return "15 * * * *" if self.drills else None

    def observe_schedule(self) -> str | None:
        """Return how often observed flows are looked at; ``None`` if none is declared."""
        return OBSERVATION.cron(()) if self.observed else None

    def observed_param(self) -> Param:
        """Return the parameter that chooses one observed flow, or all of them."""
        return self._choice(
            self.observed,
            title="Observed flow",
            description="Only this flow of observed_flows. It is read, and nothing of it is changed.",
            default="every observed flow",
        )

    def stretch_schedule(self) -> str | None:
        """Return how often stretch clusters are looked at; ``None`` if none is declared."""
        return STRETCH.cron(()) if self.stretched else None

    def stretch_param(self) -> Param:
        """Return the parameter that chooses one stretch cluster, or all of them."""
        return self._choice(
            self.stretched,
            title="Stretch cluster",
            description="Only this one of stretch_clusters. Its placement is judged, and nothing of it is changed.",
            default="every stretch cluster",
        )

    def conflict_schedule(self) -> str | None:
        """Return how often conflicts are looked for; ``None`` if the topology does not ask for it."""
        return CONFLICTS.cron(()) if self.conflicting else None

    def block_param(self) -> Param:
        """Return the parameter that chooses one block, or all whose conflicts are audited."""
        return self._choice(
            self.conflicting,
            title="Block",
            description="Only this block of active_active. Its members are read, and nothing of them is changed.",
            default="every block with conflicts in the topology",
        )

    def drilled_param(self) -> Param:
        """Return the parameter that chooses the group of a drill, or leaves it to the topology."""
        return self._choice(
            self.drilled,
            title="Protection group",
            description="The group whose failover is practised. Nothing of the group itself is touched.",
            default="the group whose drill is due",
        )

    def group_param(self) -> Param:
        """Return the parameter that chooses a protection group. If there is only one, it is the default."""
        description = "What moves together: topics, consumer groups, transactional ids, applications and the route."
        if not self.readable:
            return Param(type="string", minLength=1, title="Protection group", description=_UNREADABLE)
        if not self.groups:
            # A choice of nothing is none that Airflow's form can show, and none that it can check.
            return Param(type="string", minLength=1, title="Protection group", description=_NO_GROUP)
        chosen = {"default": self.groups[0]} if len(self.groups) == 1 else {}
        return Param(**chosen, type="string", enum=list(self.groups), title="Protection group", description=description)

    def cluster_param(self, *, title: str, description: str, default: str) -> Param:
        """Return a parameter that chooses a cluster, or leaves the choice to the DR register.

        :param default: what it means to leave the field empty, as the form shows it
        """
        return self._choice(self.clusters, title=title, description=description, default=default)

    def target_param(self) -> Param:
        """Return the parameter that chooses where applications are moved."""
        return self.cluster_param(
            title="To",
            description="The cluster that applications are moved to. Of several standbys one has to be chosen.",
            default="its only standby",
        )

    def flow_param(self) -> Param:
        """Return the parameter that chooses one flow, or leaves it to the DR register."""
        return self._choice(
            self.flows,
            title="Flow",
            description="Only this flow, as group.source-to-target, or an observed flow.",
            default="for each group, the flow that the DR register asks for; every observed flow with audits",
        )

    def _choice(self, names: Sequence[str], *, title: str, description: str, default: str) -> Param:
        if not self.readable:
            free = f"{description} Left empty: {default}. {_UNREADABLE}"
            return Param(None, type=["null", "string"], title=title, description=free)
        return Param(
            None,
            type=["null", "string"],
            enum=[None, *names],
            values_display={"null": default} | {name: name for name in names},
            title=title,
            description=f"{description} Left empty: {default}.",
        )


def reason_param(description: str) -> Param:
    """Return the parameter for the reason. It is required.

    :param description: what is asked for, and who sees the answer
    """
    written = {"minLength": 3, "maxLength": 500, "pattern": r"\S"}
    return Param(type="string", **written, title="Reason", description=description)


def dry_run_param(description: str) -> Param:
    """Return the parameter that makes a run change nothing.

    :param description: what such a run does
    """
    return Param(False, type="boolean", title="Dry run", description=description)


def begin_params() -> dict[str, Param]:
    """Return the parameters with which consumer groups begin at a time that a person chooses."""
    which = {"unknown": "only positions that cannot be translated", "all": "all positions, which may skip records"}
    return {
        "begin_at": Param(
            None,
            type=["null", "string"],
            # Airflow offers a calendar for the format date-time, and then nobody can paste a time from a log.
            pattern=r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$",
            title="Begin at",
            description="Consumer groups begin at the first record of this time, such as 2026-11-27T04:03:00Z. The "
            "approvers see what they read again and what they skip. Left empty: each resumes at its own record.",
        ),
        "begin_positions": Param(
            "unknown",
            type="string",
            enum=[*which],
            values_display=which,
            title="Which positions begin there",
            description="Counts only if a time is given.",
        ),
    }


@cache
def declared() -> Declared:
    """Read the topology of this process's environment, once."""
    try:
        topology = read_topology(os.environ)
    except KafkaDrError:
        return Declared()
    from kafka_dr.disaster.disaster_rule import vantages_missing
    from kafka_dr.topology.audited import audited_flows

    return Declared(
        tuple(sorted(topology.protection_groups)),
        tuple(sorted({name for group in topology.protection_groups.values() for name in group.clusters})),
        tuple(sorted(audited_flows(topology))),
        readable=True,
        drilled=tuple(sorted(name for name, group in topology.protection_groups.items() if group.drill)),
        observed=tuple(sorted(topology.observed_flows)),
        stretched=tuple(sorted(topology.stretch_clusters)),
        conflicting=tuple(sorted(topology.conflict_blocks)),
        overridden=tuple(
            sorted(name for name, group in topology.protection_groups.items() if vantages_missing(group.disaster))
        ),
        drills=any(group.drill and group.drill.every_days for group in topology.protection_groups.values()),
        paces=frozenset(group.watch for group in topology.protection_groups.values()),
    )

"""What readiness keeps of a group's drills: the last one with what it measured, and whether the next one is overdue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_dr.causes import cause
from kafka_dr.drill.life import is_dead
from kafka_dr.drill.result import DrillResult, DrillResults
from kafka_dr.drill.windows import overdue
from kafka_dr.errors import KafkaDrError
from kafka_dr.json_documents import DocumentDamaged
from kafka_dr.runs.clients import Clients

#: So many results are read to find one that passed.
_READ = 10


def drill_facts(group: str, clients: Clients, before: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what is kept; ``None`` if the topology declares no drills of the group.

    :param before: the facts that the look before kept; ``None`` if there are none. Where the results cannot be read, it
        is as overdue as it was
    """
    spec = clients.topology.group(group).drill
    if spec is None:
        return None
    try:
        found = DrillResults(clients.evidence_root, group).newest(_READ)
    except (DocumentDamaged, KafkaDrError, OSError) as error:
        known = (before or {}).get("drill")
        was = known.get("overdue") if isinstance(known, Mapping) else None
        return {"unreadable": cause(error), "overdue": was is True, "every_days": spec.every_days, "last": None}
    ended = [each for each in found if each.stage == "ended"]
    return {
        "overdue": overdue(spec, ended, clients.clock.now()),
        "every_days": spec.every_days,
        "last": _last(found[0], clients) if found else None,
    }


def _last(drill: DrillResult, clients: Clients) -> dict[str, Any]:
    return drill.in_short(died=is_dead(clients.evidence_root, drill, clients.clock.now()))

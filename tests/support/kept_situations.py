"""Situations as files below an evidence root, at the time of now: the pages read them as they read those of a run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from kafka_dr.readiness.judge import facts_of
from kafka_dr.readiness.model import ReadinessCheck, VerbReadiness
from kafka_dr.watch_results import KeptResult, OpenRuns, RunEndings, RunningSteps, WatchResultStore
from support.kept_metrics import NOON
from support.situation_cases import CASES, SECOND, results

#: As Airflow makes it; the cases call their run m9.
RUN = "manual__2026-03-01T11:58:14.123456+00:00_kP3xQ"
TOPOLOGY = Path(__file__).parents[2] / "include" / "topology.yaml"
#: What looks at a real group of three clusters kept, by what was the matter.
_OF_THREE = Path(__file__).parent / "of_three"
OF_THREE = tuple(sorted(path.stem for path in _OF_THREE.glob("*.json")))
#: When the cases are looked at.
SEEN = NOON + 40 * SECOND


def keep_situation(root: Path, name: str, now: datetime, groups: Sequence[str] = ("orders",)) -> None:
    """Replace everything below the root by a case.

    :param root: the evidence root
    :param now: the time that is that of the case
    :param groups: the first one is in the situation, the others are well
    """
    shutil.rmtree(root, ignore_errors=True)
    case = kept_of_three(name, now) if name in OF_THREE else shifted(CASES[name], now - SEEN)
    running, asked, endings = (case.pop(each, ()) for each in ("running", "asked", "endings"))
    found = {each: shifted(results(), now - SEEN) for each in groups} | {
        "orders": shifted(results(), now - SEEN) | case
    }
    for watch in next(iter(found.values())):
        looks = [replace(kept[watch], group=group) for group, kept in found.items() if kept[watch] is not None]
        WatchResultStore(root).keep_round(watch, looks, declared=groups)
    for each in running:
        RunningSteps(root).write(each)
    for each in asked:
        OpenRuns(root).ask(each)
    for each in reversed(endings):
        RunEndings(root).keep("orders", each)
    facts = {"verb": "planned_failover", "requested_by": "alice", "decision": {"source": "east", "target": "west"}}
    times = {"started_at": now.isoformat(), "finished_at": now.isoformat(), "seconds": 1.0}
    step = {"schema_version": 1, "outcome": "ok", "step": "preflight", "facts": facts, "checks": [], "proofs": []}
    health = found["orders"]["health"]
    last = health.facts.get("run") if health else None
    for run in dict.fromkeys(filter(None, (RUN, "manual__1", last))):
        (folder := root / "runs" / "orders" / run).mkdir(parents=True)
        (folder / "01-preflight.1.json").write_text(json.dumps(step | times))


def kept_of_three(name: str, now: datetime) -> dict[str, Any]:
    """Return what looks at a real group of three clusters kept, at the time of now.

    They were kept while it could be moved to each copy; what readiness says is made of that.
    """
    stored = json.loads((_OF_THREE / f"{name}.json").read_text("utf-8"))
    found = {watch: KeptResult.from_json(each) for watch, each in stored.items()}
    health = found["health"]
    asked = [
        ReadinessCheck("active_cluster", "ok" if role == "copy" else "failed", f"{each} is a {role}", standby=each)
        for each, role in health.facts["roles"].items()
    ]
    enough = ReadinessCheck("standby_space", "ok", "enough")
    none = VerbReadiness("failback", (ReadinessCheck("not_needed", "ok", "the standby is a copy"),))
    verbs = (VerbReadiness("planned_failover", tuple(asked)), VerbReadiness("unplanned_failover", (enough,)), none)
    found["readiness"] = KeptResult("orders", "readiness", "ok", ("asked",), health.looked_at, facts=facts_of(verbs))
    last = max(each.looked_at for each in found.values())
    case: dict[str, Any] = shifted(found, now - last - timedelta(seconds=5))
    return case


def topology_of(folder: Path, groups: Sequence[str]) -> Path:
    """Write the lab's topology with these groups, and return the file."""
    head, _, orders = TOPOLOGY.read_text("utf-8").partition("  orders:\n")
    body = "".join(f"  {name}:\n{orders.replace('orders', name).replace('billing', f'{name}-bill')}" for name in groups)
    (path := folder / "topology.yaml").write_text(head + body)
    return path


def shifted(value: Any, by: timedelta) -> Any:
    """Return a value in which every time is another one, and the run has an id as Airflow makes it."""
    if isinstance(value, datetime):
        return value + by
    if isinstance(value, str):
        try:
            return (datetime.fromisoformat(value) + by).isoformat() if value[:2] == "20" else value.replace("m9", RUN)
        except ValueError:
            return value
    if isinstance(value, dict):
        return {name: shifted(each, by) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(shifted(each, by) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{each.name: shifted(getattr(value, each.name), by) for each in fields(value) if each.init}
        )
    return value

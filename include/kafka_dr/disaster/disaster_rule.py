"""What probes say together. Pure: probes in, a verdict out.

A cluster is down when one of the signs that the topology names is seen and enough vantages see it down. Whatever could
not be asked counts for nothing, in either direction; that nobody could ask is never a sign that all is well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from kafka_dr.runs.probe import Probe
from kafka_dr.topology.model import DisasterSpec, Sign

#: ``down``: the rule holds. ``up``: it answers. ``unclear``: neither is known well enough.
ClusterCondition = Literal["down", "up", "unclear"]

VANTAGE = "vantage"
#: Which probe shows which sign.
_PROBE_OF: dict[Sign, str] = {
    "unreachable": "metadata",
    "no_active_broker": "brokers",
    "offline_partitions": "partitions",
    "no_controller": "controller",
    "writes_fail": "writes",
}


@dataclass(frozen=True, slots=True)
class ClusterVerdict:
    """What all probes say together.

    :param signs: the signs that were seen, of those that count
    :param down_for: the vantages that see it down, ``here`` among them
    :param up_for: the vantages that see it up
    """

    answer: ClusterCondition
    sentence: str
    signs: tuple[str, ...] = ()
    down_for: tuple[str, ...] = ()
    up_for: tuple[str, ...] = ()


def judge(cluster: str, probes: Sequence[Probe], spec: DisasterSpec) -> ClusterVerdict:
    """Apply the topology's rule to what was seen of a cluster."""
    found = {probe.name: probe for probe in probes}
    signs = tuple(sign for sign in spec.down_when if _failed(found.get(_PROBE_OF[sign])))
    elsewhere = [probe for probe in probes if probe.name.startswith(f"{VANTAGE} ")]
    down_for = (*(["here"] if signs else []), *_names(p for p in elsewhere if p.outcome == "failed"))
    up_for = _names(p for p in elsewhere if p.outcome == "ok")
    seen = ClusterVerdict("unclear", "", signs, down_for, up_for)
    answer, sentence = _said(cluster, seen, found, spec)
    return ClusterVerdict(answer, sentence, signs, down_for, up_for)


def _said(
    cluster: str, seen: ClusterVerdict, found: dict[str, Probe], spec: DisasterSpec
) -> tuple[ClusterCondition, str]:
    if not seen.signs:
        metadata = found.get("metadata")
        if metadata is not None and metadata.outcome == "ok":
            return "up", f"{cluster} answers and shows none of {', '.join(spec.down_when)}: {_way(found)}"
        return "unclear", f"{cluster} shows none of {', '.join(spec.down_when)}, and whether it answers is not known"
    shown = ", ".join(seen.signs)
    if seen.up_for:
        return "unclear", f"{cluster} shows {shown} here, but is up for {', '.join(seen.up_for)}: is it our network?"
    if len(seen.down_for) < spec.vantages_needed:
        few = f"{len(seen.down_for)} of {spec.vantages_needed} vantages see that ({', '.join(seen.down_for)})"
        return "unclear", f"{cluster} shows {shown}, and {few}: wait for another one, or override with a reason"
    return "down", f"{cluster} shows {shown}, seen by {', '.join(seen.down_for)}"


def _way(found: dict[str, Probe]) -> str:
    flow = found.get("lag")
    if flow is not None and flow.facts.get("over_threshold"):
        said = "a reason for dr_planned_failover as soon as the copy has caught up (dr_flows), not for this one"
        return f"{flow.detail}; that is {said}. If it is failing and cannot catch up, override with a reason"
    return "move it with dr_planned_failover, or override with a reason"


def _failed(probe: Probe | None) -> bool:
    return probe is not None and probe.outcome == "failed"


def _names(probes: Iterable[Probe]) -> tuple[str, ...]:
    return tuple(probe.name.removeprefix(f"{VANTAGE} ") for probe in probes)

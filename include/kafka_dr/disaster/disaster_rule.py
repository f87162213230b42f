"""The topology's rule for "this cluster is down". Pure: probes in, a verdict out.

A cluster is down when at least one sign that the topology names is seen, and enough vantages see the cluster down. A
probe without an answer does not count: it is never a sign of a failure, and never an all-clear.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from kafka_dr.outcomes import Probe
from kafka_dr.topology.group_keys import DisasterSpec, Sign

#: ``down``: the rule holds. ``up``: the cluster answers. ``unclear``: too little is known for either.
ClusterCondition = Literal["down", "up", "unclear"]

VANTAGE = "vantage"
#: The probe of the cluster's register. It is not a sign of a disaster: applications do not need it.
REGISTER = "register"
#: This installation, as one of the vantages.
_HERE = "here"
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
    """What all probes of a cluster say together.

    :param sentence: what was seen and, unless the cluster is down, what to do next
    :param signs: the signs that were seen, of those that the topology counts
    :param down_for: the vantages that see it down; ``here`` is this installation
    :param up_for: the vantages that see it up
    """

    answer: ClusterCondition
    sentence: str
    signs: tuple[str, ...] = ()
    down_for: tuple[str, ...] = ()
    up_for: tuple[str, ...] = ()


def vantages_missing(spec: DisasterSpec) -> str:
    """Say that the rule can never hold with the vantages that are declared; empty if it can."""
    declared = 1 + len(spec.vantages)
    if declared >= spec.vantages_needed:
        return ""
    return (
        f"the topology needs {spec.vantages_needed} vantages that see the cluster down and has {declared}, this "
        "installation among them, so an override with a reason is needed"
    )


def judge(cluster: str, probes: Sequence[Probe], spec: DisasterSpec) -> ClusterVerdict:
    """Apply the topology's rule to the probes of a cluster."""
    found = {probe.name: probe for probe in probes}
    signs = tuple(sign for sign in spec.down_when if _failed(found.get(_PROBE_OF[sign])))
    vantages = [probe for probe in probes if probe.name.startswith(f"{VANTAGE} ")]
    down_for = (*([_HERE] if signs else []), *_names(p for p in vantages if p.outcome == "failed"))
    up_for = _names(p for p in vantages if p.outcome == "ok")
    seen = ClusterVerdict("unclear", "", signs, down_for, up_for)
    answer, sentence = _answer(cluster, seen, found, spec)
    return ClusterVerdict(answer, sentence, signs, down_for, up_for)


def _answer(
    cluster: str, seen: ClusterVerdict, found: dict[str, Probe], spec: DisasterSpec
) -> tuple[ClusterCondition, str]:
    if not seen.signs:
        none = f"shows none of the signs {', '.join(spec.down_when)}"
        metadata = found.get("metadata")
        if metadata is not None and metadata.outcome == "ok":
            return "up", f"{cluster} answers and {none}: {_what_to_do(found)}"
        if metadata is not None and metadata.detail:
            return "unclear", (
                f"it is not known whether {cluster} is down: {metadata.detail}. Or override with a reason, if you know "
                "that it is down"
            )
        return "unclear", f"{cluster} {none}, but it is not known whether it answers: check the cluster"
    shown = ", ".join(seen.signs)
    seen_by = ", ".join("this installation" if name == _HERE else name for name in seen.down_for)
    if seen.up_for:
        others = ", ".join(seen.up_for)
        return "unclear", f"{cluster} shows {shown} to this installation, but {others} sees it up: check our network"
    if len(seen.down_for) < spec.vantages_needed:
        few = f"only {len(seen.down_for)} of the {spec.vantages_needed} vantages needed see that ({seen_by})"
        return "unclear", f"{cluster} shows {shown}, but {few}: wait for another vantage, or override with a reason"
    return "down", f"{cluster} shows {shown}, seen by {seen_by}"


def _what_to_do(found: dict[str, Probe]) -> str:
    for name in (REGISTER, "partitions"):
        if (needed := found.get(name)) is not None and needed.outcome != "ok":
            return (
                f"{needed.detail}. That alone is not a disaster, but no planned failover is possible until that works. "
                "If the group has to be moved before, override with a reason"
            )
    lag = found.get("lag")
    if lag is not None and lag.facts.get("over_threshold"):
        return (
            f"{lag.detail}. That alone is not a disaster: see dr_flows, and use dr_planned_failover as soon as the "
            "copy has caught up. If the cluster is failing and the copy cannot catch up, override with a reason"
        )
    return "use dr_planned_failover, or override with a reason"


def _failed(probe: Probe | None) -> bool:
    return probe is not None and probe.outcome == "failed"


def _names(probes: Iterable[Probe]) -> tuple[str, ...]:
    return tuple(probe.name.removeprefix(f"{VANTAGE} ") for probe in probes)

"""The steps of a planned failover, each a module of ``check``, ``intent``, ``act`` and ``prove``."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from kafka_dr.failover.request import StepName
from kafka_dr.failover.steps import (
    claim,
    cut_over_groups,
    drain,
    fence_source,
    flip_route,
    open_target,
    preflight,
    protect,
    report,
    stop_flow,
    verify,
)

#: The approval is asked by a person's answer, not by a program: see :mod:`kafka_dr.failover.approval`.
_MODULES: dict[StepName, ModuleType] = {
    StepName.PREFLIGHT: preflight,
    StepName.CLAIM: claim,
    StepName.FENCE_SOURCE: fence_source,
    StepName.DRAIN: drain,
    StepName.STOP_FLOW: stop_flow,
    StepName.CUT_OVER_GROUPS: cut_over_groups,
    StepName.OPEN_TARGET: open_target,
    StepName.FLIP_ROUTE: flip_route,
    StepName.VERIFY: verify,
    StepName.PROTECT: protect,
    StepName.REPORT: report,
}
STEPS: dict[StepName, Any] = dict(_MODULES)

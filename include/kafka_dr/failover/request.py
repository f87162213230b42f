"""What is asked for: a verb for a protection group, and the steps that the verb is made of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from kafka_dr.register import Verb


class StepName(StrEnum):
    """The steps of a planned failover; the names are the task ids in Airflow."""

    PREFLIGHT = "preflight"
    APPROVAL = "approval"
    CLAIM = "claim"
    FENCE_SOURCE = "fence_source"
    DRAIN = "drain"
    STOP_FLOW = "stop_flow"
    CUT_OVER_GROUPS = "cut_over_groups"
    OPEN_TARGET = "open_target"
    FLIP_ROUTE = "flip_route"
    VERIFY = "verify"
    PROTECT = "protect"
    REPORT = "report"


@dataclass(frozen=True, slots=True)
class StepDefinition:
    """A step's place in a verb.

    :param number: its place, from 1, as evidence is numbered
    :param rolls_back: whether a failure of this step is undone by the roll back
    """

    name: StepName
    number: int
    title: str
    rolls_back: bool = False


PLANNED_FAILOVER: tuple[StepDefinition, ...] = (
    StepDefinition(StepName.PREFLIGHT, 1, "Find out whether a switch would be safe"),
    StepDefinition(StepName.APPROVAL, 2, "Ask a person"),
    StepDefinition(StepName.CLAIM, 3, "Take the group for this run", rolls_back=True),
    StepDefinition(StepName.FENCE_SOURCE, 4, "Stop writes on the source, provably", rolls_back=True),
    StepDefinition(StepName.DRAIN, 5, "Bring everything across and freeze the consumer groups", rolls_back=True),
    StepDefinition(StepName.STOP_FLOW, 6, "Stop replication, provably", rolls_back=True),
    StepDefinition(StepName.CUT_OVER_GROUPS, 7, "Give each group its place on the target", rolls_back=True),
    StepDefinition(StepName.OPEN_TARGET, 8, "Hand over and open the target", rolls_back=True),
    StepDefinition(StepName.FLIP_ROUTE, 9, "Send the applications to the target"),
    StepDefinition(StepName.VERIFY, 10, "See that it works"),
    StepDefinition(StepName.PROTECT, 11, "Replicate the other way round"),
    StepDefinition(StepName.REPORT, 12, "Measure and seal the evidence"),
)

#: Evidence of what is no step of a verb is numbered from here on.
ROLL_BACK_NUMBER = 90
RESUME_NUMBER = 91


def definition(step: StepName) -> StepDefinition:
    """Return a step's place in the planned failover."""
    return next(found for found in PLANNED_FAILOVER if found.name is step)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What somebody asked for when triggering a run.

    :param run: the run's id, Airflow's ``run_id``; unique for each group
    :param source: where the group is believed to be active; the register's answer where ``None``
    :param target: where it is to go; the register's standby where ``None``
    :param dry_run: check everything, change nothing
    """

    protection_group: str
    run: str
    source: str | None = None
    target: str | None = None
    dry_run: bool = False
    reason: str = ""
    verb: Verb = "planned_failover"


@dataclass(frozen=True, slots=True)
class ResumeRequest:
    """What to do with a run that died.

    :param run: the run that died; whatever run holds the group where ``None``
    """

    protection_group: str
    decision: Literal["finish", "abandon"]
    run: str | None = None
    reason: str = ""

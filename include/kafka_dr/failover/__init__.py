"""The verbs: what moves a protection group from one cluster to another, step by step and provably."""

from __future__ import annotations

from kafka_dr.failover.adoption import adopt
from kafka_dr.failover.approval import Answer, ApprovalQuestion, ask_approval, record_answer, record_expiry
from kafka_dr.failover.record import Check, StepFailed, StepRecord
from kafka_dr.failover.request import (
    PLANNED_FAILOVER,
    UNPLANNED_FAILOVER,
    VERBS,
    ResumeRequest,
    RunRequest,
    StepDefinition,
    StepName,
)
from kafka_dr.failover.resume import resume
from kafka_dr.failover.roll_back import roll_back
from kafka_dr.failover.runner import run_step
from kafka_dr.failover.world import Role, World

__all__ = [
    "PLANNED_FAILOVER",
    "UNPLANNED_FAILOVER",
    "VERBS",
    "StepName",
    "StepDefinition",
    "RunRequest",
    "ResumeRequest",
    "World",
    "Role",
    "run_step",
    "roll_back",
    "resume",
    "adopt",
    "ask_approval",
    "record_answer",
    "record_expiry",
    "ApprovalQuestion",
    "Answer",
    "Check",
    "StepRecord",
    "StepFailed",
]

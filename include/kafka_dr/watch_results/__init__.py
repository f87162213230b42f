"""What each watch found of each group, kept where it can be read without asking a cluster.

``watches/<watch>.json`` below the evidence root: the newest result of every group, since when, and what was before;
``watches/<group>/<watch>.json`` for audits, which are known at different times; it is in the other file soon after.
``watches/.changes/<watch>/<day>.json`` has every change of an outcome, for 30 days.
``watches/.figures/<watch>/<day>.json`` has what was measured, the worst of each quarter of an hour, for 15 days.
``watches/.open`` has a file for each run that waits for a person, or continues after an answer;
``watches/.running`` has one for each run that a process executes.
``watches/<group>/runs.json`` lists how the last runs ended. Each file is replaced as a whole. They say what was seen
and license nothing: no step reads them.
"""

from __future__ import annotations

from kafka_dr.watch_results.endings import NEEDS_REBUILD, NOT_BACK, RunEnding, RunEndings, is_over, read_endings
from kafka_dr.watch_results.figures_over_time import MEASURED, FigureName, FigurePoint, FiguresOverTime
from kafka_dr.watch_results.kept import FlowNow, KeptResult, Period, is_record
from kafka_dr.watch_results.of_standbys import CALM, FLOW, STANDBYS, WORST_FIRST, StandbyFinding, WatchOutcome
from kafka_dr.watch_results.open_runs import OpenRun, OpenRuns
from kafka_dr.watch_results.outcome_changes import OutcomeChange, OutcomeChanges
from kafka_dr.watch_results.running_steps import RunningStep, RunningSteps
from kafka_dr.watch_results.status import WatchedGroup, WatchStatus, judged_by, watched_group
from kafka_dr.watch_results.store import WatchResultStore, read_observed, read_status, read_watch_status
from kafka_dr.watch_results.watches import (
    ALL_WATCHES,
    CONFLICTS,
    OBSERVATION,
    STRETCH,
    WATCHES,
    Pace,
    Watch,
    WatchName,
    believed_for,
)

__all__ = [
    "ALL_WATCHES",
    "CALM",
    "CONFLICTS",
    "FLOW",
    "FlowNow",
    "NEEDS_REBUILD",
    "NOT_BACK",
    "OBSERVATION",
    "STANDBYS",
    "STRETCH",
    "WATCHES",
    "WORST_FIRST",
    "WatchedGroup",
    "MEASURED",
    "FigureName",
    "FigurePoint",
    "FiguresOverTime",
    "KeptResult",
    "OpenRun",
    "OpenRuns",
    "OutcomeChange",
    "OutcomeChanges",
    "Pace",
    "Period",
    "RunEnding",
    "RunEndings",
    "RunningStep",
    "RunningSteps",
    "StandbyFinding",
    "Watch",
    "WatchName",
    "WatchOutcome",
    "WatchResultStore",
    "WatchStatus",
    "believed_for",
    "judged_by",
    "watched_group",
    "is_over",
    "is_record",
    "read_endings",
    "read_observed",
    "read_status",
    "read_watch_status",
]

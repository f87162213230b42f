"""What each step of a run saw: stored once, sealed, and shown as a page that can still be read a year later."""

from __future__ import annotations

from kafka_dr.evidence.audit_view import AuditView, build_audit_view, build_stranded_view
from kafka_dr.evidence.canonical import NotCanonical, canonical, digest
from kafka_dr.evidence.ending import NOTHING, UNFINISHED, Ending, ending
from kafka_dr.evidence.expired_run import EvidenceExpired
from kafka_dr.evidence.group_view import GroupLinks, KeptDrill, KeptNames, build_group_view
from kafka_dr.evidence.known_secrets import KnownSecrets, SecretInEvidence
from kafka_dr.evidence.loss_line import loss_line
from kafka_dr.evidence.objectives import MeasuredObjective, objective_results
from kafka_dr.evidence.observation_view import build_observation_view
from kafka_dr.evidence.open_run_view import OpenedRuns, OpenRunLine
from kafka_dr.evidence.over_time import SHOWN as SHOWN_FIGURES
from kafka_dr.evidence.over_time import FigureLine, figure_line
from kafka_dr.evidence.page import (
    render_audit,
    render_group,
    render_notice,
    render_observation,
    render_question,
    render_result,
    render_status,
    render_trigger,
    with_way_back,
)
from kafka_dr.evidence.question_view import AnswerForm, build_question_view
from kafka_dr.evidence.readiness_view import verb_lines
from kafka_dr.evidence.result_view import build_result_view
from kafka_dr.evidence.seal import EvidenceChanged, FileDigest, Seal, Verification
from kafka_dr.evidence.status_links import StatusLinks
from kafka_dr.evidence.status_view import StatusView, build_status_view, open_runs
from kafka_dr.evidence.step_files import UnusableName
from kafka_dr.evidence.storage_path import StoragePath
from kafka_dr.evidence.store import (
    EvidenceRef,
    EvidenceStore,
    EvidenceUnfinished,
    EvidenceUnwritable,
)
from kafka_dr.evidence.trigger_view import FORMS, TriggerView, trigger_fields
from kafka_dr.evidence.view_model import StepView

__all__ = [
    "AnswerForm",
    "FORMS",
    "build_question_view",
    "loss_line",
    "render_question",
    "TriggerView",
    "trigger_fields",
    "render_trigger",
    "verb_lines",
    "StepView",
    "EvidenceStore",
    "EvidenceRef",
    "Seal",
    "Verification",
    "FileDigest",
    "StoragePath",
    "KnownSecrets",
    "Ending",
    "ending",
    "NOTHING",
    "UNFINISHED",
    "MeasuredObjective",
    "objective_results",
    "AuditView",
    "build_audit_view",
    "build_stranded_view",
    "FigureLine",
    "SHOWN_FIGURES",
    "figure_line",
    "OpenedRuns",
    "OpenRunLine",
    "GroupLinks",
    "KeptDrill",
    "KeptNames",
    "open_runs",
    "build_group_view",
    "build_result_view",
    "render_audit",
    "build_observation_view",
    "render_observation",
    "render_group",
    "render_result",
    "with_way_back",
    "render_notice",
    "StatusLinks",
    "StatusView",
    "build_status_view",
    "render_status",
    "canonical",
    "digest",
    "EvidenceChanged",
    "EvidenceExpired",
    "EvidenceUnfinished",
    "EvidenceUnwritable",
    "NotCanonical",
    "SecretInEvidence",
    "UnusableName",
]

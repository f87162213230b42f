"""Positions of groups: carried to the other cluster, with how sure each is, and checked when set."""

from __future__ import annotations

from kafka_dr.offsets.last_look import FileLookStore, LastLook
from kafka_dr.offsets.maps import AuditedPairs
from kafka_dr.offsets.syncs.archive import KnownSyncs
from kafka_dr.offsets.syncs.decode import (
    Checkpoint,
    OffsetSync,
    Undecodable,
    decode_checkpoint,
    decode_sync,
    sync_topic,
)
from kafka_dr.offsets.translate.anchor_cache import FilePairStore, Pairs
from kafka_dr.offsets.translate.answers import (
    Kind,
    OffsetMap,
    TranslatedOffset,
    Translation,
    badness,
    starts_of_empty,
    translate_groups,
)
from kafka_dr.offsets.translate.by_content import BracketingOffsetMap
from kafka_dr.offsets.translate.read_logs import Aside
from kafka_dr.offsets.verify import CutOverProblem, PlainFrontier, decreased, not_read_back, past_end

__all__ = [
    "OffsetMap",
    "Aside",
    "BracketingOffsetMap",
    "AuditedPairs",
    "FilePairStore",
    "Pairs",
    "PlainFrontier",
    "FileLookStore",
    "LastLook",
    "Translation",
    "TranslatedOffset",
    "Kind",
    "badness",
    "KnownSyncs",
    "translate_groups",
    "starts_of_empty",
    "CutOverProblem",
    "not_read_back",
    "past_end",
    "decreased",
    "OffsetSync",
    "Checkpoint",
    "Undecodable",
    "decode_sync",
    "decode_checkpoint",
    "sync_topic",
]

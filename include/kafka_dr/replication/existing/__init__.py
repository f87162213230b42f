"""Replication that somebody else has set up, and that a take over stops and replaces."""

from __future__ import annotations

from kafka_dr.replication.existing.confluent_replicator import ConfluentReplicator
from kafka_dr.replication.existing.mirrormaker_connect import MirrorMakerOnConnect
from kafka_dr.replication.existing.mirrormaker_process import MirrorMakerProcess
from kafka_dr.replication.existing.owned_process import OwnedProcess, OwnersCommands
from kafka_dr.replication.existing.port import (
    Abilities,
    Ability,
    ExistingReplication,
    ExistingStatus,
    PartStatus,
    declared,
)
from kafka_dr.replication.existing.strimzi import StrimziMirrorMaker

__all__ = [
    "Abilities",
    "Ability",
    "ExistingReplication",
    "ExistingStatus",
    "PartStatus",
    "declared",
    "MirrorMakerOnConnect",
    "MirrorMakerProcess",
    "OwnedProcess",
    "OwnersCommands",
    "StrimziMirrorMaker",
    "ConfluentReplicator",
]

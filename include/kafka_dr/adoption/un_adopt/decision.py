"""What the approval of a release is about: what copies the topics afterwards, and that nothing is fenced any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_dr.adoption.un_adopt.context import ReleaseContext
from kafka_dr.approvals.decision import of_switch
from kafka_dr.errors import KafkaDrError
from kafka_dr.outcomes import Check


def facts(context: ReleaseContext, checks: Sequence[Check]) -> dict[str, Any]:
    """Return the decision facts as they are now.

    :param checks: results of the checks of the same moment
    """
    declared = context.run.group.existing_replication
    return {
        **of_switch(context.run, checks, seen_on=context.run.source),
        "hand_back_to": context.hand_back_to,
        "former_principal": declared.principal if declared else None,
        "uncopied_topics": uncopied(context),
        **_of_leaving(context),
    }


def _of_leaving(context: ReleaseContext) -> dict[str, Any]:
    """Return what is decided if one standby leaves: which clusters stay, and whether it is known to be off."""
    if not context.leaving:
        return {}
    roles = context.run.record().roles
    stays = [[name, str(role)] for name, role in roles.each if name != context.leaving]
    return {
        "leaves": context.leaving,
        "was": str(roles.of(context.leaving)),
        "stay": stays,
        "off": context.run.override,
    }


def uncopied(context: ReleaseContext) -> list[str]:
    """Return the topics that nothing copies after the release; none if that cannot be asked."""
    try:
        return list(context.uncopied_topics())
    except KafkaDrError:
        # A check says what is wrong.
        return []


def measured(context: ReleaseContext) -> dict[str, Any]:
    """Measure what the approvers are shown for information; the approval does not cover it."""
    run = context.run
    denies = {
        cluster: len(run.clients.register(cluster).added_acls(run.group.name, cluster).current)
        for cluster in (*(() if context.leaving else (run.source,)), *(() if context.is_off else context.standbys))
    }
    return {"denies": [[cluster, count] for cluster, count in denies.items()], **_of_existing(context)}


def _of_existing(context: ReleaseContext) -> dict[str, Any]:
    if context.hand_back_to == "own_flow":
        return {"existing": None, "abilities": {}}
    try:
        return {"existing": context.existing.described, "abilities": context.existing.abilities().to_json()}
    except KafkaDrError:
        # A check says what is wrong.
        return {"existing": None, "abilities": {}}

"""A form that is filled in already for a group: what a person still has to write, and what is refused at once.

It hands what was typed to Airflow's own API, with the login of who typed it. Airflow checks rights and values again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from kafka_dr.evidence.status_colour import StatusColour

FieldKind = Literal["text", "flag", "choice"]


@dataclass(frozen=True, slots=True)
class TriggerField:
    """A field of a form, under the name that the DAG's parameter has.

    :param choices: value and label of each
    :param value: what it is filled in with
    :param least: how many characters have to be written; 0: it may be left empty
    :param needed: why a run that is no dry run is refused without it; empty if it is not
    """

    name: str
    kind: FieldKind
    label: str
    about: str
    choices: tuple[tuple[str, str], ...] = ()
    value: str = ""
    least: int = 0
    needed: str = ""


@dataclass(frozen=True, slots=True)
class TriggerView:
    """A form.

    :param now: what is known of the verb and the group, in one line; empty if nothing is
    :param seen: what was seen last of the cluster that the run gives up; empty if nothing is known of it
    :param api: where the form is sent to
    :param runs: the address of the page of a run, before its id: it shows each step, and the question when it asks
    :param refused: why the first task would refuse the run now, in sentences, as far as that is known
    """

    title: str
    group: str
    about: str
    now: str
    colour: StatusColour
    fields: tuple[TriggerField, ...]
    api: str
    runs: str
    refused: tuple[str, ...] = ()
    seen: str = ""


_REASON = TriggerField(
    "reason", "text", "Reason", "Why now. Shown to the approvers and kept with the evidence.", least=3
)
_DRY_RUN = TriggerField("dry_run", "flag", "Dry run", "Runs every check, changes nothing and asks nobody.")


_BEGIN = (
    TriggerField(
        "begin_at",
        "text",
        "Begin at",
        "A time such as 2026-11-27T04:03:00Z, for consumer groups. Empty: each resumes at its own record.",
    ),
    TriggerField(
        "begin_positions",
        "choice",
        "Which positions begin there",
        "",
        (("unknown", "Only those that cannot be translated"), ("all", "All, which may skip records")),
        "unknown",
    ),
)


@dataclass(frozen=True, slots=True)
class OfferedForm:
    """Which form a DAG has.

    :param moves: whether it moves the group from one cluster to another
    :param chooses: the field with which one standby is chosen; its choices are the clusters, or those that fit now
    """

    title: str
    about: str
    moves: bool = False
    chooses: TriggerField | None = None
    fields: tuple[TriggerField, ...] = field(default=())


#: The forms by their DAG. A DAG's own form has the same names; a test compares them.
FORMS: Mapping[str, OfferedForm] = {
    "dr_planned_failover": OfferedForm(
        "Planned failover",
        "Both clusters work. Nothing is lost. It asks an approver first.",
        moves=True,
        fields=(*_BEGIN, _DRY_RUN, _REASON),
    ),
    "dr_unplanned_failover": OfferedForm(
        "Unplanned failover",
        "Gives up the active cluster. What was not copied is lost until it returns. It asks an approver first.",
        moves=True,
        fields=(
            TriggerField(
                "override",
                "text",
                "Override",
                "Why to move although the rule is not met. Empty: the rule decides.",
            ),
            TriggerField("acknowledged", "flag", "I know that the group was moved a short while ago", ""),
            *_BEGIN,
            _DRY_RUN,
            _REASON,
        ),
    ),
    "dr_failback": OfferedForm(
        "Failback",
        "After an unplanned failover: makes the old cluster a copy again. It asks an approver first.",
        chooses=TriggerField(
            "target", "choice", "Cluster", "It becomes a copy again.", (("", "the only one that is diverged"),)
        ),
        fields=(
            TriggerField(
                "mode",
                "choice",
                "Mode",
                "",
                (("quarantine", "Quarantine: delete nothing"), ("rebuild", "Rebuild: delete and copy again")),
                "quarantine",
            ),
            TriggerField(
                "rescue",
                "choice",
                "Stranded records",
                "",
                (("keep", "Keep them with the evidence"), ("republish", "Keep them, and publish them again")),
                "keep",
            ),
            TriggerField(
                "late",
                "choice",
                "Late records",
                "Where copies have other names than their originals.",
                (
                    ("declared", "What the topology says of each topic"),
                    ("deliver", "Let them arrive in their copies"),
                    ("stranded_topic", "Publish them to topics of their own"),
                    ("hold", "Deliver them nowhere"),
                ),
                "declared",
            ),
            _DRY_RUN,
            _REASON,
        ),
    ),
    "dr_drill": OfferedForm(
        "Drill",
        "Practises a failover on topics of the drill's own. Nothing of the group is touched.",
        chooses=TriggerField("standby", "choice", "To", "", (("", "the standby that was drilled longest ago"),)),
        fields=(
            TriggerField(
                "kind",
                "choice",
                "Kind",
                "",
                (("planned", "Planned: there and back"), ("unplanned", "Unplanned: cut off from the source")),
                "planned",
            ),
        ),
    ),
}


def trigger_fields(
    dag_id: str,
    clusters: Sequence[str],
    *,
    active: str,
    standby: str,
    needed: Mapping[str, str] | None = None,
    chosen: Mapping[str, str] | None = None,
    targets: Sequence[tuple[str, str]] = (),
) -> tuple[TriggerField, ...]:
    """Return the fields of a form. The clusters are filled in as the register says; unknown ones are left to it.

    :param clusters: of the group
    :param active: the active cluster; empty if it is not known now
    :param standby: the other one, in the same way
    :param needed: why a field is needed now, by its name
    :param chosen: what a field is filled in with now, by its name
    :param targets: of several standbys those to choose from, each with what is known of it, the best first
    """
    offered, needed, chosen = FORMS[dag_id], needed or {}, chosen or {}
    fields = tuple(
        replace(each, needed=needed.get(each.name, ""), value=chosen.get(each.name, each.value))
        for each in offered.fields
    )
    names = tuple((name, name) for name in clusters)
    if (chooses := offered.chooses) is not None:
        choices = tuple(targets) or (*chooses.choices, *names)
        return (replace(chooses, choices=choices, value=choices[0][0]), *fields)
    if not offered.moves:
        return fields
    source = TriggerField(
        "source", "choice", "From", "", (("", "the active cluster"), *names), active if active in clusters else ""
    )
    if targets:
        target = TriggerField("target", "choice", "To", "", tuple(targets), targets[0][0])
    else:
        target = TriggerField(
            "target", "choice", "To", "", (("", "its standby"), *names), standby if standby in clusters else ""
        )
    return (source, target, *fields)

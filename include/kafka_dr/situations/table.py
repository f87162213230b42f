"""The table of situations: what is the matter, in one sentence, and the one step that helps. The first that fits holds.

The words in braces are filled in by :mod:`kafka_dr.situations.judgement`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kafka_dr.situations.group_facts import GroupFacts

SituationColour = Literal["good", "warn", "bad", "unknown"]
#: ``form``: the form of a DAG, filled in for the group. ``dag``: the page of a DAG. ``question``: where the run that
#: waits is answered. ``evidence``: the page of the run. ``result``: what a watch found.
Opens = Literal["form", "dag", "question", "evidence", "result"]


@dataclass(frozen=True, slots=True)
class Action:
    """The one step that helps.

    :param label: what the button says
    :param target: the DAG or the watch; empty for a question and for evidence
    :param command: the same without Airflow, after ``python -m kafka_dr``; empty if there is none
    """

    label: str
    opens: Opens
    target: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """A row of the table.

    :param name: stable, for programs
    :param word: the state for people, in capitals; a page never shows a colour alone
    :param headline: what is the matter, and since when
    :param sentence: what that means, and what to do
    :param action: ``None``: nothing has to be done
    :param wait: until when waiting is right, and for what; empty if it is not
    :param why_not: why other steps do not help; empty if nobody would try them
    """

    name: str
    colour: SituationColour
    word: str
    fits: Callable[[GroupFacts], object]
    headline: str
    sentence: str
    action: Action | None = None
    wait: str = ""
    why_not: str = ""


def _stopped(seen: GroupFacts, *phases: str) -> bool:
    return bool(seen.half_moved) and (not phases or seen.phase in phases)


def _without_decider(seen: GroupFacts) -> bool:
    return _stopped(seen) and seen.decides in seen.silent


_RESUME = {
    "finish": "resume --group {group} --run {run} --reason WHY",
    "abandon": "abandon --group {group} --run {run} --reason WHY",
}
_LOOK_AT_HEALTH = Action("Read what was found", "result", "health")
_UNPLANNED = Action(
    "Start an unplanned failover",
    "form",
    "dr_unplanned_failover",
    "failover unplanned --group {group} --from {active} --to {standby} --reason WHY",
)

#: The order is the order of urgency.
SITUATIONS: tuple[Situation, ...] = (
    Situation(
        "stopped_decider_away",
        "bad",
        "HALF MOVED",
        lambda seen: _without_decider(seen) and seen.phase == "switching" and seen.verb != "unplanned_failover",
        "The {verb} stopped half way, and {decides} does not answer{since_silent}",
        "Applications may be refused writes on both clusters. Bring {decides} back; if it stays away, move the group.",
        _UNPLANNED,
        why_not="Resume needs the register of {decides}.",
    ),
    Situation(
        "stopped_register_away",
        "bad",
        "HALF MOVED",
        _without_decider,
        "The {verb} stopped half way, and {decides} does not answer{since_silent}",
        "Applications may be refused writes. Bring {decides} back, then finish the run with dr_resume.",
        _LOOK_AT_HEALTH,
        why_not="Resume and every failover need the register of {decides}.",
    ),
    Situation(
        "stopped_after_hand_over",
        "bad",
        "HALF MOVED",
        lambda seen: _stopped(seen, "handed_over"),
        "The {verb} stopped after its hand-over to {active}",
        "It holds the group{since_record}, and no process continues it: applications may be refused writes. Finish it.",
        Action("Finish the run", "dag", "dr_resume", _RESUME["finish"]),
        why_not="It is past its point of no return, so it cannot be rolled back.",
    ),
    Situation(
        "stopped_before_hand_over",
        "bad",
        "HALF MOVED",
        lambda seen: _stopped(seen, "switching", "adopting", "releasing"),
        "The {verb} stopped before its hand-over",
        "It holds the group{since_record}, and no process continues it: applications may be refused writes. Abandon "
        "it: {active} serves as before. Or finish it.",
        Action("Abandon or finish the run", "dag", "dr_resume", _RESUME["abandon"]),
        why_not="A new run is refused while this one holds the group.",
    ),
    Situation(
        "stopped_failback",
        "bad",
        "HALF MOVED",
        lambda seen: _stopped(seen, "diverged"),
        "The {verb} stopped half way",
        "It holds the group{since_record}. {active} serves, and there is no standby. Finish it.",
        Action("Finish or abandon the run", "dag", "dr_resume", _RESUME["finish"]),
        why_not="A failover has no copy to go to.",
    ),
    Situation(
        "stopped",
        "bad",
        "HALF MOVED",
        _stopped,
        "The {verb} stopped half way",
        "Applications may be refused writes. Resume reads in the registers how far it came: abandon it there, or "
        "finish it.",
        Action("Abandon or finish the run", "dag", "dr_resume", _RESUME["abandon"]),
        why_not="A new run is refused while this one may hold the group.",
    ),
    Situation(
        "mistake",
        "bad",
        "STOPPED",
        lambda seen: seen.mistake,
        "The clusters are not as the topology and the registers say{since_health}",
        "Every run is refused until a person has decided. {mistake}",
        _LOOK_AT_HEALTH,
    ),
    Situation(
        "approval_waits",
        "bad",
        "WAITS FOR AN ANSWER",
        lambda seen: seen.waiting,
        "{Waiting} waits for an answer since {asked}",
        "{people} may answer until {until}; then it ends without a change.",
        Action("Read the question and answer it", "question", command="approve"),
    ),
    Situation(
        "run_slow",
        "warn",
        "SLOW",
        lambda seen: seen.moving and seen.is_slow,
        "{Verb}: {step} has taken {elapsed}, usually {usual}",
        "Its process showed life {seen}. Look at what it waits for; it ends by itself at its deadline.",
        Action("See what it waits for", "evidence"),
        why_not="Resume is refused while a process executes the run.",
    ),
    Situation(
        "run_moving",
        "warn",
        "RUNNING",
        lambda seen: seen.moving or (seen.held and seen.late is None),
        "{Verb}: {step}{elapsed_since}",
        "Nothing has to be done.{usually}",
        Action("Watch it step by step", "evidence"),
        wait="Wait until the run has ended; the page shows each step.",
    ),
    Situation(
        "just_ended",
        "warn",
        "JUST ENDED",
        lambda seen: seen.ended,
        "A run of this group ended {ended}",
        "No check has looked at the clusters since.",
        Action("Read how it ended", "evidence"),
        wait="dr_health looks again within a minute.",
    ),
    Situation(
        "checks_late",
        "unknown",
        "NOT WATCHED",
        lambda seen: seen.late,
        "The check of every minute has not looked since {late}",
        "Airflow is late, or the DAG is paused. Meanwhile no cluster that returns is fenced.",
        Action("Look at dr_health", "dag", "dr_health", "status --group {group}"),
    ),
    Situation(
        "nothing_answers",
        "unknown",
        "NO CLUSTER ANSWERS",
        lambda seen: len(seen.silent) > 1,
        "No cluster answers this installation{since_silent}",
        "{silents} may be down, or this network is. Ask from another machine before you call a cluster down.",
        _LOOK_AT_HEALTH,
        why_not="A failover needs one cluster that answers.",
    ),
    Situation(
        "active_down",
        "bad",
        "DOWN",
        lambda seen: seen.down,
        "{active} is down by the topology's rule{since_silent}",
        "Applications are without service. Move the group to {standby}.",
        _UNPLANNED,
        why_not="A planned failover needs both clusters.",
    ),
    Situation(
        "active_silent",
        "bad",
        "NO ANSWER",
        lambda seen: seen.active and seen.active in seen.silent,
        "{active}, which is active, does not answer{since_silent}",
        "Whether it is down is not proven yet. The form asks the topology's rule, then an approver.",
        _UNPLANNED,
        why_not="A planned failover needs both clusters.",
    ),
    Situation(
        "active_unheard",
        "unknown",
        "NO ANSWER",
        lambda seen: seen.active and seen.active in seen.unheard,
        "{active}, which is active, does not answer{since_unheard}",
        "Another cluster answers, but this worker was slow meanwhile, so it may be the worker: ask from another "
        "machine. The form asks the topology's rule, then an approver.",
        _UNPLANNED,
        why_not="A planned failover needs both clusters.",
    ),
    Situation(
        "being_fenced",
        "bad",
        "BEING FENCED",
        lambda seen: seen.phase == "unfenced" and seen.standby in seen.answering,
        "{standby}, the old cluster, is back and may take writes{since_back}",
        "dr_health fences it with its next look. Stop the producers that still write there.",
        _LOOK_AT_HEALTH,
        wait="Wait a minute, then start a failback.",
        why_not="A failback is refused until the fence is proven.",
    ),
    Situation(
        "old_cluster_away",
        "warn",
        "NOT FENCED",
        lambda seen: seen.phase == "unfenced",
        "{standby}, the old cluster, is away and not fenced{since_record}",
        "{active} serves. dr_health fences {standby} within a minute of its return.",
        wait="Wait until {standby} answers.",
        why_not="A failback needs both clusters.",
    ),
    Situation(
        "not_fenced",
        "bad",
        "FENCE BROKEN",
        lambda seen: seen.unfenced,
        "The fence of {unfenced} was not complete{since_health}",
        "Two clusters may have taken writes. Find out who removed it, and who wrote there.",
        _LOOK_AT_HEALTH,
    ),
    Situation(
        "needs_rebuild",
        "bad",
        "NO STANDBY",
        lambda seen: seen.phase == "diverged" and seen.needs_rebuild,
        "{standby} is no copy any more{since_record}",
        "{active} serves, and nothing could take over. The last failback was refused and needs the mode rebuild, "
        "because {refused}.",
        Action(
            "Start a failback by rebuild", "form", "dr_failback", "failback --group {group} --mode rebuild --reason WHY"
        ),
        why_not="A failover has no copy to go to.",
    ),
    Situation(
        "diverged",
        "bad",
        "NO STANDBY",
        lambda seen: seen.phase == "diverged",
        "{standby} is no copy any more{since_record}",
        "{active} serves, and nothing could take over. {was_refused}Make {standby} a copy again.",
        Action("Start a failback", "form", "dr_failback", "failback --group {group} --reason WHY"),
        why_not="A failover has no copy to go to.",
    ),
    Situation(
        "standby_silent",
        "bad",
        "NO ANSWER",
        lambda seen: seen.silent,
        "{silent} does not answer{since_silent}",
        "{active} serves; if it fails now, nothing can take over. Check {silent}.",
        _LOOK_AT_HEALTH,
        why_not="A failover needs a standby that answers.",
    ),
    Situation(
        "standby_unheard",
        "unknown",
        "NO ANSWER",
        lambda seen: seen.unheard,
        "{unheard} does not answer{since_unheard}",
        "{active} serves. This worker was slow meanwhile, so it may be the worker: ask {unheard} from another machine.",
        _LOOK_AT_HEALTH,
        why_not="A failover needs a standby that answers.",
    ),
    Situation(
        "copy_lacks_records",
        "bad",
        "COPY DIFFERS",
        lambda seen: seen.failed("checksum"),
        "The copy on {standby} is not equal{since_found}",
        "A failover would lose records. See which differ.",
        Action("See what differs", "result", "checksum"),
        why_not="A planned failover is refused until the copy is equal.",
    ),
    Situation(
        "canary_lost",
        "bad",
        "COPY LACKS RECORDS",
        lambda seen: seen.canary_lost and seen.failed("canary"),
        "The replication left out a canary{since_found}",
        "Records of applications may be missing, too. Compare the copy.",
        Action("Compare the copy now", "dag", "dr_checksum_audit"),
        why_not="A planned failover is refused until the copy is proven equal.",
    ),
    Situation(
        "flow_stopped",
        "bad",
        "NOT COPYING",
        lambda seen: seen.failed("flows", "canary", "lag"),
        "The replication to {standby} does not keep up{since_found}",
        "{active} serves; what is not copied is lost if it fails. See what was found.",
        Action("See what was found", "result", "{watch}"),
        why_not="A planned failover waits for the copy.",
    ),
    Situation(
        "not_adopted",
        "warn",
        "NOT PROTECTED",
        lambda seen: not seen.adopted or seen.phase == "released",
        "Nothing protects this group",
        "It is not adopted, so no watch looks at it and nothing of it is fenced.",
        Action("Adopt it", "dag", "dr_adopt", "adopt --group {group} --active CLUSTER --standby CLUSTER --reason WHY"),
    ),
    Situation(
        "check_red",
        "bad",
        "FOUND",
        lambda seen: seen.failed(),
        "{question} No{since_found}",
        "{found}",
        Action("See what was found", "result", "{watch}"),
    ),
    Situation(
        "no_disaster_recovery",
        "bad",
        "COULD NOT TAKE OVER",
        lambda seen: seen.answers.get("unplanned_failover") == "not_ready",
        "If {active} fails now, {standby} could not take over",
        "{why_unplanned}",
        Action("See what has to be fixed", "result", "readiness"),
    ),
    Situation(
        "no_planned_failover",
        "warn",
        "CANNOT BE MOVED",
        lambda seen: seen.answers.get("planned_failover") == "not_ready",
        "{active} serves, and the group could not be moved now",
        "{why_planned}",
        Action("See what has to be fixed", "result", "readiness"),
    ),
    Situation(
        "nothing_known",
        "unknown",
        "UNKNOWN",
        lambda seen: seen.phase != "stable",
        "Which cluster is active is not known",
        "No check has read a register yet. It prevents nothing: every run reads the registers itself.",
        Action("Look at dr_health", "dag", "dr_health", "status --group {group}"),
    ),
    Situation(
        "drill_died",
        "warn",
        "DRILL STOPPED",
        lambda seen: seen.drill == "died",
        "A drill of this group stopped, and no process executes it any more",
        "It may have left topics of its own; nothing of the group is touched. Its task teardown removes them.",
        Action("Look whether its teardown runs", "dag", "dr_drill", "drill --group {group} --teardown"),
    ),
    Situation(
        "drill_running",
        "warn",
        "DRILL",
        lambda seen: seen.drill == "running",
        "A drill of this group runs",
        "It uses topics of its own; nothing of the group is touched.",
        wait="Wait for its result.",
    ),
    Situation(
        "drill_overdue",
        "warn",
        "DRILL OVERDUE",
        lambda seen: seen.drill == "overdue",
        "All is well, and no drill has passed for too long",
        "Nobody knows any more how long a failover takes. Start one.",
        Action("Start a drill", "form", "dr_drill", "drill --group {group}"),
    ),
    Situation(
        "not_proven",
        "unknown",
        "UNKNOWN",
        lambda seen: seen.unknown,
        "Not known since {unknown_since}: {unknown}",
        "{prevents}",
        Action("See why", "result", "{watch}"),
    ),
    Situation(
        "take_over_unknown",
        "unknown",
        "UNKNOWN",
        lambda seen: seen.answers.get("unplanned_failover", "unknown") == "unknown" and not seen.not_due,
        "{active} serves; whether {standby} could take over is not known",
        "{why_unplanned}",
        Action("See why", "result", "readiness"),
    ),
    Situation(
        "not_due_yet",
        "warn",
        "NOT ALL CHECKED YET",
        lambda seen: seen.not_due,
        "{active} serves; not due yet: {not_due}",
        "Nothing has to be done.",
        wait="The last of them looks until {due}.",
    ),
    Situation(
        "noted",
        "warn",
        "WELL, BUT",
        lambda seen: seen.noted,
        "{active} serves, {standby} could take over",
        "Something needs a look when there is time: {found}",
        Action("See what was found", "result", "{watch}"),
    ),
    Situation(
        "well",
        "good",
        "WELL",
        lambda seen: True,
        "{active} serves, {standby} could take over",
        "Nothing has to be done.",
    ),
)

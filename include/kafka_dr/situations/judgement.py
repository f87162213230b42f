"""The judgement of a group: its row of the table of situations, with the words of this moment. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from kafka_dr.durations import duration, moment
from kafka_dr.quoting import line
from kafka_dr.situations.group_facts import FAILOVERS, Finding, GroupFacts
from kafka_dr.situations.situation import Action, Situation, SituationColour
from kafka_dr.situations.table import SITUATIONS
from kafka_dr.verb_words import verb_words, with_article
from kafka_dr.watch_results import ALL_WATCHES, WatchName

#: What people call the thing that a watch finds out.
WHAT: Mapping[WatchName, str] = {
    "health": "the state of the clusters",
    "readiness": "readiness",
    "canary": "whether records arrive",
    "flows": "the state of the replication",
    "lag": "the lag",
    "checksum": "whether the copy is equal",
    "offsets": "where consumers would resume",
    "config_sync": "the standby's configuration",
    "offset_syncs": "the archive of offset syncs",
    "observation": "what the observed replication is worth",
}
#: A headline is read at a glance, so a sentence of a check is cut; one click shows all of it.
_MOST_CHARACTERS = 150


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is the matter with a group, and the one step that helps.

    :param headline: what is the matter, and since when
    :param sentence: what that means, and what to do
    :param action: ``None``: nothing has to be done
    :param wait: until when waiting is right; empty if it is not
    :param why_not: why other steps do not help; empty if nobody would try them
    :param run: the run that the action is about; empty if it is about none
    :param dag_id: the DAG of that run; empty without Airflow
    :param not_due: what is not known yet because it is not due, a sentence each
    """

    group: str
    situation: Situation
    headline: str
    sentence: str
    action: Action | None
    wait: str
    why_not: str
    run: str = ""
    dag_id: str = ""
    not_due: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The situation for programs."""
        return self.situation.name

    @property
    def word(self) -> str:
        """The state in capitals."""
        return self.situation.word

    @property
    def colour(self) -> SituationColour:
        """The colour of the state."""
        return self.situation.colour

    @property
    def said(self) -> str:
        """The state and what is the matter, in one line."""
        return f"{self.word}: {self.headline}"

    def as_json(self) -> dict[str, str]:
        """Return the judgement for a program. Keys are only ever added."""
        said = {"name": self.name, "word": self.word, "headline": self.headline, "sentence": self.sentence}
        return said | {
            "step": self.step,
            "command": self.action.command if self.action else "",
            "why_not": self.why_not,
        }

    @property
    def step(self) -> str:
        """The one step that helps, in words; empty if nothing has to be done."""
        return f"{self.action.label}." if self.action else self.wait

    @property
    def urgency(self) -> int:
        """How many situations of the table are more urgent."""
        return SITUATIONS.index(self.situation)


def judge(seen: GroupFacts) -> Judgement:
    """Return the first situation of the table that fits, in the words of this moment."""
    row, found = next((row, found) for row in SITUATIONS if (found := row.fits(seen)))
    words = _words(seen, _finding(found))
    headline, sentence, wait, why_not = (
        each.format_map(words).strip() for each in (row.headline, row.sentence, row.wait, row.why_not)
    )
    action = row.action and replace(
        row.action, target=row.action.target.format_map(words), command=row.action.command.format_map(words)
    )
    run, dag_id = _run(seen)
    due = tuple(f"{WHAT[each.watch]} is not due until {moment(each.due, seen.at)}" for each in seen.not_due if each.due)
    return Judgement(seen.group, row, headline, sentence, action, wait, why_not, run, dag_id, due)


def _finding(found: object) -> Finding | None:
    """Return the finding that made a row fit, if one did."""
    first = found[0] if isinstance(found, tuple) else found
    return first if isinstance(first, Finding) else None


def _run(seen: GroupFacts) -> tuple[str, str]:
    if seen.waiting:
        return seen.waiting.run, seen.waiting.dag_id
    if seen.moving:
        return seen.moving.run, seen.moving.dag_id
    return seen.run, ""


def _words(seen: GroupFacts, found: Finding | None) -> dict[str, str]:
    """Return every word that the table may use."""
    active, standby = seen.active or "the active cluster", _concerned(seen) or "the standby"
    alike = found.standbys if found else ()
    others = [name for name in seen.movable if name not in alike]
    silent = seen.decides if seen.decides in seen.silent else next(iter(sorted(seen.silent)), "")
    unheard = seen.active if seen.active in seen.unheard else next(iter(sorted(seen.unheard)), "")
    moving, waiting = seen.moving, seen.waiting
    verb = verb_words(moving.verb if moving else seen.verb) or "run"
    elapsed = duration(seen.seconds) if moving else ""
    usual = duration(seen.usual) if seen.usual is not None else ""
    since_found = f" since {moment(found.since, seen.at)}" if found and found.since else ""
    return {
        "group": seen.group,
        "run": seen.run,
        "active": active,
        "standby": standby,
        "concerned": " and ".join(alike) or standby,
        "target": "STANDBY" if seen.roles else standby,
        "one_standby": seen.one_standby or standby,
        "pending": " and ".join(seen.pending),
        "if_it_fails": (f"{' and '.join(seen.copies)} could take over" if seen.copies else "nothing can take over"),
        "and_takes_over": f", and {' and '.join(seen.copies)} could take over" if seen.copies else "",
        "takes_over": f"{' and '.join(seen.copies) or 'nothing'} could take over",
        "no_standby": f"{' and '.join(seen.copies)} could take over" if seen.copies else "there is no standby",
        "except_to": f" but {' and '.join(seen.copies)}, and a planned one waits" if seen.copies else "",
        "elsewhere": f" The group can be moved to {' or '.join(others)}." if others else "",
        "not_there": f" to {' or '.join(seen.immovable)}" if others else "",
        "decides": seen.decides or "the cluster that decides",
        "silent": silent,
        "silents": " and ".join(sorted(seen.silent)),
        "since_silent": _since_in(seen.silent, silent, seen),
        "unheard": unheard,
        "since_unheard": _since_in(seen.unheard, unheard, seen),
        "since_back": _since_in(seen.answering, standby, seen),
        "since_record": f" since {moment(seen.since, seen.at)}" if seen.since else "",
        "since_health": _since_of(seen, "health"),
        "since_found": since_found,
        "verb": verb,
        "Verb": f"{verb[:1].upper()}{verb[1:]}",
        "step": moving.title if moving else "a step",
        "elapsed": elapsed,
        "elapsed_since": f", for {elapsed}" if elapsed else "",
        "usual": usual,
        "usually": f" This step usually takes {usual}." if usual else "",
        "seen": moment(moving.seen_at, seen.at) if moving else "",
        "refused": _cut(seen.refused),
        "was_refused": f"The last failback was refused: {_cut(seen.refused)}. " if seen.refused else "",
        "Waiting": with_article(verb_words(waiting.dag_id.removeprefix("dr_"))).capitalize() if waiting else "",
        "asked": moment(waiting.asked_at, seen.at) if waiting else "",
        "people": line(" or ".join(waiting.people)) if waiting else "",
        "until": f"{waiting.expires_at.astimezone(UTC):%H:%M} UTC" if waiting else "",
        "ended": moment(seen.ended, seen.at) if seen.ended else "",
        "late": moment(seen.late, seen.at) if seen.late else "",
        "mistake": _cut(seen.mistake),
        "unfenced": " and ".join(seen.unfenced),
        "watch": found.watch if found else "health",
        "question": ALL_WATCHES[found.watch].question if found else "",
        "found": _cut(found.said) if found else "",
        "unknown": _named(seen.unknown),
        "not_due": _named(seen.not_due),
        "due": moment(max(each.due for each in seen.not_due if each.due), seen.at) if seen.not_due else "",
        "unknown_since": since_found.removeprefix(" since ") or "the first look",
        "prevents": _prevents(seen),
        "why_planned": _cut(seen.why_not.get("planned_failover", "")),
        "why_unplanned": _cut(seen.why_not.get("unplanned_failover", "No check has asked the clusters yet.")),
    }


def _concerned(seen: GroupFacts) -> str:
    """Return the standby of a pair; of several the first one that was given up, one that is back before all others."""
    back = [name for name in seen.not_fenced if name in seen.answering]
    return next(iter((*back, *seen.not_fenced, *seen.diverged)), seen.standby)


def _since_in(clusters: Mapping[str, datetime | None], cluster: str, seen: GroupFacts) -> str:
    at = clusters.get(cluster)
    return f" since {moment(at, seen.at)}" if at else ""


def _since_of(seen: GroupFacts, watch: WatchName) -> str:
    found = next((each for each in seen.findings if each.watch == watch), None)
    return f" since {moment(found.since, seen.at)}" if found and found.since else ""


def _named(findings: tuple[Finding, ...]) -> str:
    names = [WHAT[each.watch] for each in findings]
    if len(names) <= 2:
        return " and ".join(names)
    return f"{names[0]}, {names[1]} and {len(names) - 2} more"


def _prevents(seen: GroupFacts) -> str:
    """Say whether what is not known keeps a failover from starting."""
    if {seen.answers.get(each, "unknown") for each in FAILOVERS} == {"unknown"}:
        return "Whether a failover could start is not known; a run asks the clusters itself before it changes anything."
    if seen.prevented == ("planned_failover",):
        return "It keeps a planned failover from starting; an unplanned one could start."
    if seen.prevented:
        return "It keeps a failover from starting."
    return "It prevents nothing: both failovers could start."


def _cut(said: str) -> str:
    said = line(said)
    return said if len(said) <= _MOST_CHARACTERS else f"{said[: _MOST_CHARACTERS - 1].rsplit(' ', 1)[0]} …"

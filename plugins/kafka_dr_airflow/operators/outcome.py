"""The last task of a run: it says how the run ended, and is green only if the run did what it was asked for."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, TriggerRule
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowRuntimeError

from kafka_dr.causes import cause
from kafka_dr.errors import KafkaDrError
from kafka_dr.quoting import inline, unescaped
from kafka_dr_airflow.links import EvidenceLink
from kafka_dr_airflow.operators.failover_step import URGENT
from kafka_dr_airflow.operators.kept_results import keep_ending
from kafka_dr_airflow.operators.open_runs import run_ended
from kafka_dr_airflow.operators.outgoing import notify_refused
from kafka_dr_airflow.operators.plain_failure import fails_plainly
from kafka_dr_airflow.run_note import leave_note, next_step
from kafka_dr_airflow.topology_file import read_topology

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafka_dr.evidence.ending import Ending

_FAILED = ("failed", "upstream_failed")
#: The tasks that undo a run.
_ROLL_BACKS = ("roll_back", "give_back")
_NO_EVIDENCE = "UNKNOWN: the evidence of this run cannot be read"
_NO_STATES = "unknown tasks"


#: How the note of a run begins that moved nothing, and that no person rejected.
_DID_NOTHING = ("REFUSED", "FAILED", "EXPIRED")
#: An answer of Airflow or of the evidence store that is missing for a moment must not make a good run red.
_RETRIES: dict[str, Any] = {"retries": 2, "retry_delay": timedelta(seconds=5)}


class OutcomeOperator(BaseOperator):
    """Runs when every other task of the run has ended, in whatever state, and writes the note on the run.

    In a run that was rejected, refused or not answered in time, nothing was changed and every task did its work. Such a
    run is not a success: in the list of runs it would look like a switch. So Airflow judges the run by this task alone,
    and it is red unless the evidence shows a good end and no task failed.

    It is tried again while evidence or Airflow do not answer. A run that ended badly is not judged twice.

    It changes only the note, so clearing it is safe. Clearing another task *with downstream* clears this one as well.
    """

    ui_color = "#e8e4d8"
    operator_extra_links = (EvidenceLink(),)
    #: Whether a group without evidence of this run counts as one where nothing had to be done.
    may_be_silent = False

    def __init__(self, **kwargs: Any) -> None:
        defaults = {"task_id": "outcome", "trigger_rule": TriggerRule.ALL_DONE, **_RETRIES}
        super().__init__(**{**defaults, "execution_timeout": timedelta(minutes=2), **URGENT, **kwargs})

    @fails_plainly
    def execute(self, context: Any) -> str:
        """Read the evidence of the run, write the note, and fail unless the run ended well."""
        endings, failed = self._endings(context), self._failed(context)
        found = self._judged(endings, failed)
        if not self.may_be_silent:
            run_ended(self.log, context, context["params"]["protection_group"])
        if len(endings) == 1 and (group := endings[0][0]) and not self.may_be_silent:
            keep_ending(self.log, context, group=group, ending=replace(endings[0][1], note=found.note, good=found.good))
            if not found.good and found.note.startswith(_DID_NOTHING):
                notify_refused(self.log, context["ti"].dag_id, group, unescaped(found.note))
        leave_note(self.log, context, found.note, then=next_step(self.log, self.groups(context)))
        if not found.good:
            missing = (*(each.note for _, each in endings), *failed)
            known = not any(each.startswith((_NO_EVIDENCE, _NO_STATES)) for each in missing)
            raise (AirflowFailException if known else AirflowException)(found.note)
        self.log.info("%s", found.note)
        return found.note

    def groups(self, context: Any) -> Sequence[str]:
        """Return the protection groups that the run is about."""
        return (context["params"]["protection_group"],)

    def _endings(self, context: Any) -> list[tuple[str, Ending]]:
        from kafka_dr.evidence.ending import Ending, ending
        from kafka_dr.health.kept_facts import record_at_the_end
        from kafka_dr_airflow.task_clients import open_clients

        found = []
        try:
            with open_clients() as clients:
                for group in self.groups(context):
                    view = clients.evidence.run_view(group, context["run_id"])
                    if view.steps or not self.may_be_silent:
                        ended = ending(view)
                        record = record_at_the_end(group, clients) if "claim" in ended.steps else {}
                        found.append((group, replace(ended, record=record)))
        except (KafkaDrError, OSError) as error:
            return [
                (
                    "",
                    Ending(
                        f"{_NO_EVIDENCE} ({inline(cause(error))}); clear this task",
                        good=False,
                    ),
                )
            ]
        return found

    def _judged(self, endings: list[tuple[str, Ending]], failed: Sequence[str]) -> Ending:
        """Judge the run by its evidence and by the states of its tasks; the worse of the two counts."""
        from kafka_dr.evidence.ending import NOTHING, UNFINISHED, Ending
        from kafka_dr.watch_results import NOT_BACK

        several = len(endings) > 1
        note = "; ".join(f"{group}: {found.note}" if several else found.note for group, found in endings)
        good = all(found.good for _, found in endings)
        steps = [name for name in failed if name not in _ROLL_BACKS]
        if steps and all(found.note == NOTHING for _, found in endings):
            note = f"FAILED at {steps[0]} before anything was recorded: see its log"
        elif steps and (good or any(found.note.startswith(UNFINISHED) for _, found in endings)):
            # A task that was killed left no step in the evidence; an audit keeps its result in its own report.
            note = f"FAILED at {', '.join(steps[:3])}" + (f". {note}" if note else ": see its log")
        undoing = next((name for name in failed if name in _ROLL_BACKS), None)
        if undoing and not note.startswith(NOT_BACK):
            # The roll back left no evidence, or was refused: the note must not read as if the group was rolled back.
            note = f"{NOT_BACK}: see the log of {undoing}. {note}"
        return Ending(note or "NOTHING TO DO", good and not failed)

    def _failed(self, context: Any) -> list[str]:
        """Return the tasks that failed; if there is none, those that did not run because of another one."""
        ti = context["ti"]
        try:
            states = ti.get_task_states(dag_id=ti.dag_id, run_ids=[ti.run_id]).get(ti.run_id, {})
        except (AirflowException, AirflowRuntimeError) as error:
            return [f"{_NO_STATES} (Airflow does not say how they ended: {inline(cause(error))})"]
        others = {name: state for name, state in states.items() if name != ti.task_id}
        by_state = ([name for name, found in others.items() if found == state] for state in _FAILED)
        return next(filter(None, by_state), [])


class ConfigOutcomeOperator(OutcomeOperator):
    """Says how a config sync ended, for each group whose configuration differed."""

    may_be_silent = True

    def groups(self, context: Any) -> Sequence[str]:
        """Return every declared group. One without differences has no evidence of this run."""
        return tuple(sorted(read_topology(os.environ).protection_groups))

"""Run one step: check, act, prove. Whatever happens, its evidence is kept first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

from kafka_dr.approvals.open_questions import no_other_run_waits
from kafka_dr.approvals.run_ids import is_new
from kafka_dr.approvals.who_may_answer import enough
from kafka_dr.causes import cause
from kafka_dr.errors import KafkaDrError
from kafka_dr.evidence.objectives import objective_results
from kafka_dr.evidence.store import EvidenceUnwritable
from kafka_dr.failover.planned.open_target import MAY_BE_UNKNOWN
from kafka_dr.outcomes import Check
from kafka_dr.rare_collection import garbage_collected_rarely
from kafka_dr.runs import unfiled
from kafka_dr.runs.attempt import Attempt, WithoutStorage
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepFailed, StepOutcome, StepRecord, ended, shortfall
from kafka_dr.runs.request import MOVES, RunRequest, StepName, definition, first_step
from kafka_dr.runs.run import Run
from kafka_dr.runs.sealing import seal_or_later
from kafka_dr.runs.signs_of_life import show_end, showing_life
from kafka_dr.runs.step_order import StepTurn, turn_of
from kafka_dr.verb_words import verb_words, with_article
from kafka_dr.verbs.table import VERB_PARTS, Step


def run_step(step: StepName, request: RunRequest, clients: Clients) -> StepRecord:
    """Run one step of the verb that is asked for, as the last thing that this process does if it fails.

    :raises StepFailed: it was refused, failed, or its outcome is unknown; the record says which, and why
    """
    try:
        record = try_step(step, request, clients)
    except StepFailed:
        show_end(clients, request.protection_group, request.run)
        clients.shown.last_words()
        # A failed report ends a run as well. Another attempt seals the evidence again.
        _seal_after(step, request, clients)
        raise
    _seal_after(step, request, clients)
    clients.shown.last_words()
    return record


def try_step(step: StepName, request: RunRequest, clients: Clients) -> StepRecord:
    """Try one step; if it fails, this process may try it again.

    :raises StepFailed: it was refused, failed, or its outcome is unknown; the record says which, and why
    """
    defined = definition(step, request.verb)
    attempt = Attempt.start(
        request.protection_group,
        request.run,
        clients,
        step,
        defined.number,
        goes_forward=defined.goes_forward,
        without_storage=_without_storage(step, request),
    )
    if request.dry_run:
        # Also if it is refused: the evidence has to show that nothing was meant to happen.
        attempt.facts = {"dry_run": True, "verb": request.verb}
    module = VERB_PARTS[request.verb].steps[step]
    show_step(step, request, clients)
    with garbage_collected_rarely():
        try:
            record = attempt.carry_out(clients, lambda: _begin(module, step, Run(request, clients), attempt))
        except BaseException as error:
            clients.shown.ended(request.protection_group, request.run, cause(error), good=False)
            raise
        clients.shown.ended(request.protection_group, request.run, record.outcome, good=True)
        return record


def show_step(step: StepName, request: RunRequest, clients: Clients, *, named: str = "") -> None:
    """Show that a step begins, to who looks at the pages.

    :param named: what the step is called; its own name if empty
    """
    holds = definition(step, request.verb).number >= definition(StepName.CLAIM, request.verb).number
    group, verb = request.protection_group, request.verb
    clients.shown.begins(group, request.run, verb, named or step, holds=holds, dry_run=request.dry_run)


def _without_storage(step: StepName, request: RunRequest) -> WithoutStorage:
    """Return when a step continues although its evidence cannot be filed: from the claim on, nobody waits for that."""
    if request.dry_run or step in (StepName.PREFLIGHT, StepName.GATHER_EVIDENCE):
        return "never"
    return "if_good" if step is StepName.CLAIM else "always"


def _begin(module: Step, step: StepName, run: Run, attempt: Attempt) -> tuple[StepOutcome, str]:
    if attempt.without_storage != "never":
        attempt.file_earlier = partial(_file_earlier, run)
    return _go(module, step, run, attempt)


def _file_earlier(run: Run) -> None:
    """File what earlier steps could not file. If it still cannot be, this step's evidence cannot be, either.

    :raises EvidenceUnwritable: the storage failed
    """
    try:
        waiting = unfiled.waiting_in([run.journal])
    except KafkaDrError:
        # What the registers keep is filed later; this step's own evidence says why they do not answer.
        return
    if left := unfiled.file_all(run.clients, run.group.name, run.request.run, waiting):
        raise EvidenceUnwritable(
            f"The evidence of {', '.join(map(str, left))} of run {run.request.run} waits to be filed."
        )


def _seal_after(step: StepName, request: RunRequest, clients: Clients) -> None:
    if step is StepName.REPORT:
        seal_or_later(clients, request.protection_group, request.run)


#: Proofs that may be unknown, by step: these steps are past the point of no return when they ask.
_MAY_BE_UNKNOWN: Mapping[StepName, frozenset[str]] = dict.fromkeys(
    (StepName.OPEN_TARGET, StepName.FLIP_ROUTE), MAY_BE_UNKNOWN
)
#: Steps that compare both logs: they connect to them before they know whether they may run, to save time.
_READING = frozenset({StepName.DRAIN, StepName.CUT_OVER_GROUPS})
#: Steps that change nothing, so a dry run runs them, too: they find out what the verb would cost.
_ONLY_LOOKING = frozenset({StepName.PREFLIGHT, StepName.GATHER_EVIDENCE})


def checks_of(module: Step, run: Run) -> tuple[Check, ...]:
    """Return what a step checks before it acts; nothing where it has no check of its own."""
    return _asked(module, "check", run)


def proofs_of(module: Step, run: Run) -> tuple[Check, ...]:
    """Return what a step proves after it acted; nothing where it has nothing to prove."""
    return _asked(module, "prove", run)


def _asked(module: Step, name: str, run: Run) -> tuple[Check, ...]:
    ask: Callable[[Run], Sequence[Check]] | None = getattr(module, name, None)
    return tuple(ask(run)) if ask else ()


def _go(module: Step, step: StepName, run: Run, attempt: Attempt) -> tuple[StepOutcome, str]:
    if step in _READING:
        run.source_policy.connect_ahead(run.connect_readers)
    where = turn_of(step, run.request.run, run.register_state, run.request.verb)
    dry = run.request.dry_run
    if where.verdict == "passed":
        return "passed", where.detail
    if where.verdict == "refused" and not (dry and _is_free(run)):
        return "refused", where.detail
    with nullcontext() if dry else _executing(run, step):
        return _carry_out(module, step, run, attempt, where)


@contextmanager
def _executing(run: Run, step: StepName) -> Iterator[None]:
    """Take the run, so that no other process of it changes anything from now on. What it has settled stays as it is."""
    state = run.register_state
    claims = state is not None and state.is_unproven and step is StepName.CLAIM
    if state is None or state.run != run.request.run or not state.is_held or claims:
        yield
        return
    with showing_life(run.clients, run.take(), step):
        yield


def _carry_out(module: Step, step: StepName, run: Run, attempt: Attempt, where: StepTurn) -> tuple[StepOutcome, str]:
    attempt.checks = before = before_anybody_waits(step, run)
    if forbidden := shortfall(before, failed="refused"):
        return forbidden
    run.checks = checks_of(module, run)
    attempt.checks = (*before, *run.checks)
    attempt.intent = tuple(module.intent(run))
    if forbidden := shortfall(attempt.checks, failed="refused"):
        return forbidden
    if run.request.dry_run:
        shown = module.act(run) if step in _ONLY_LOOKING else {}
        attempt.facts = {**attempt.facts, "source": run.source, "target": run.target, **shown}
        return "would_do", dry_run_report(run, shown)
    attempt.facts = module.act(run)
    attempt.proofs = proofs_of(module, run)
    waived = _MAY_BE_UNKNOWN.get(step, frozenset())
    return ended(attempt.proofs, may_be_unknown=waived, detail=_state_after(where, attempt.facts))


def dry_run_report(run: Run, facts: Mapping[str, Any]) -> str:
    """Return the report of a dry run of a step.

    :param facts: of a verb's first step: what an approver would be shown; empty for every other step
    """
    said = f"dry run of {with_article(verb_words(run.request.verb))} of {run.group.name}, {run.source} → {run.target}"
    costs = VERB_PARTS[run.request.verb].question.costs(run, facts) if "measurements" in facts else ()
    return ". ".join((f"{said}: nothing was changed", *costs))


def before_anybody_waits(step: StepName, run: Run) -> tuple[Check, ...]:
    """Return what the first step of a verb asks about the run itself: is its id new, and could anybody approve it now?

    What forbids the run is said before anything else is asked, which may take long.

    These are no decision facts: who could approve may change until somebody has answered.
    """
    if step is not first_step(run.request.verb):
        return ()
    waits = (no_other_run_waits(run),) if run.request.verb in MOVES else ()
    return (is_new(run), enough(run), *waits)


def _state_after(where: StepTurn, facts: Mapping[str, Any]) -> str:
    """Return the state of the group after a step, for a person."""
    if kept := objective_results(facts):
        return f"{where.detail}; {'; '.join(each.words for each in kept)}"
    if not {"phase", "epoch"} <= facts.keys():
        return where.detail
    return f"the group is {facts['phase']} by this run (epoch {facts['epoch']})"


def _is_free(run: Run) -> bool:
    """Return whether no run holds the group: a dry run claims nothing, so its later steps may run all the same."""
    return turn_of(StepName.CLAIM, run.request.run, run.register_state, run.request.verb).verdict == "its_turn"

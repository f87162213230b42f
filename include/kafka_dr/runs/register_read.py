"""What the registers say about a group, and which of them decides. Nothing waits long for a dead cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial

from kafka_dr.clock import SystemClock
from kafka_dr.errors import ConnectionMistake, KafkaDrError, NeedsPerson
from kafka_dr.register import RegisterState, arbiter, highest
from kafka_dr.register.most_registers import named
from kafka_dr.register.port import RegisterUnusable
from kafka_dr.register.state import HOLDING, is_on_majority, require_known
from kafka_dr.runs.background import BackgroundCall
from kafka_dr.runs.request import VERBS
from kafka_dr.runs.silent_clusters import FULL_SECONDS, SilentClusters
from kafka_dr.waiting import wait_until

#: How long a cluster that may be dead is given to answer, and how long one whose answer is needed.
OTHERS_SECONDS = FULL_SECONDS
NEEDED_SECONDS = 15.0
#: Looks cost nothing, and everything waits for the deciding register.
_PAUSE_SECONDS = 0.01

Answers = Mapping[str, RegisterState | KafkaDrError | None]


@dataclass(frozen=True, slots=True)
class Waiting:
    """How long registers that do not decide are waited for.

    :param silent: what this process knows of clusters that do not answer
    :param seconds: the time of one that was not silent before. 0 is for a question whose answer cannot depend on them:
        they are asked, and not waited for
    """

    silent: SilentClusters
    seconds: float = OTHERS_SECONDS


def decided(group: str, answers: Answers) -> RegisterState | None:
    """Return the highest record, if the register that decides is among those that answered.

    A register that does not answer is tolerated only if another register's record says that it does not decide. Of a
    group with several standbys more than half have to answer: then no other ones can have moved it meanwhile.

    :raises NeedsPerson: the records contradict each other, or the one that decides cannot be read, or too few can
    :raises ConnectionMistake: the one that decides cannot be read, because what we connect with is wrong
    """
    found, silent = _highest(answers)
    if silent and (found is None or arbiter(found) in silent):
        raise _unreadable(group, silent, found)
    if found is not None:
        _require_most(found, answers)
    return found


def decided_without_source(
    group: str, answers: Answers, *, target: str | None, off: str = "", run: str = ""
) -> RegisterState | None:
    """Return the highest record for an unplanned failover, whose target decides, whatever the source says.

    :param target: as asked for; the standby of the highest record where ``None``
    :param off: names the clusters that a person knows to be off, in words
    :param run: the run that asks: what it has won it continues, and reports
    :raises NeedsPerson: the records contradict each other, or the target's cannot be read, or too few of several
    :raises ConnectionMistake: the target's cannot be read, because what we connect with is wrong
    """
    found, silent = _highest(answers)
    if silent and (found is None or (target or _goes_to(found)) in silent):
        raise _unreadable(group, silent)
    if found is not None and (found.run != run or found.is_unproven):
        _require_most(found, answers, off=off)
    return found


def require_declared(
    found: RegisterState | None, clusters: Collection[str], copies_named: str = ""
) -> RegisterState | None:
    """Return a record, if the topology declares every cluster that it names, and the names of copies as it does.

    A process with an older topology asks fewer registers than decide, so it must not move the group.

    :param clusters: those that the topology declares for the group
    :param copies_named: how it declares the names of copies, see :class:`RegisterState`
    :raises NeedsPerson: it declares otherwise
    """
    if found is not None and found.is_adopted and found.copies_named != copies_named:
        before, now = (
            f'begin with their cluster and "{mark}"' if mark else "have the names of their originals"
            for mark in (found.copies_named, copies_named)
        )
        raise NeedsPerson(
            f"{found.group} was adopted with copies that {before}, and by this installation's topology they {now}: "
            "nothing is changed from here. Declare its flow as before. To change the names, release the group with "
            "dr_un_adopt, and adopt it again"
        )
    named = [name for name, _ in found.roles.each] if found is not None and found.is_adopted else []
    lacking = [name for name in named if name not in clusters]
    if found is not None and lacking:
        raise NeedsPerson(
            f"the register says that the clusters of {found.group} are {found.roles}, and the topology of this "
            f"installation does not declare {' and '.join(lacking)} for it: nothing is changed from here. Add "
            f"{'it' if len(lacking) == 1 else 'them'} to clusters of {found.group}, as in the topology with which that "
            "record was written"
        )
    return found


def states_of(answers: Answers) -> dict[str, RegisterState | None]:
    """Return what each register that answered holds."""
    return {name: answer for name, answer in answers.items() if not isinstance(answer, KafkaDrError)}


def _require_most(found: RegisterState, answers: Answers, *, off: str = "") -> None:
    """Require that more than half of several registers answer, unless a run that has won holds the group.

    While one does not answer, an empty one says no more than that one: it may have lost what others wrote there.

    :raises NeedsPerson: too few answer, and not all others are known to be off
    """
    clusters = [name for name, _ in found.roles.each]
    silent = [error for error in answers.values() if isinstance(error, KafkaDrError)]
    without = [name for name in clusters if not isinstance(answers.get(name), RegisterState)]
    # A failback moves nothing, so another run may have taken the group from it.
    won = found.phase in HOLDING and not found.is_unproven
    if not silent or not found.has_several or won or 2 * len(without) < len(clusters):
        return
    if not named(without, off):
        raise NeedsPerson(
            f"the registers of {' and '.join(without)} do not answer or are empty, and more than half of the "
            f"{len(clusters)} of {found.group} have to answer, because others may have moved it meanwhile: "
            f"{silent[0]}. Bring them back; or, if they are known to be off, use dr_unplanned_failover with an "
            "override that names each of them"
        )


def read_patiently_from_one(
    clusters: Collection[str],
    read: Callable[[str], RegisterState | None],
    *,
    run: str,
    target: str | None,
    waiting: Waiting,
) -> dict[str, RegisterState | KafkaDrError | None]:
    """Read every register at once; stop as soon as the deciding one says that this run holds the group.

    :param run: the run that asks; until it holds the group, each register is given its time
    :param waiting: how long that is; less for a cluster that this process knows to be silent
    :param target: as asked for; the standby of the highest record where ``None``. Its register gets the longer time
    """
    asked = {name: waiting.silent.ask(name, f"the register of {name}", partial(read, name)) for name in clusters}
    clock = SystemClock()
    began = clock.monotonic()
    # More than half of several have to answer.
    seconds = waiting.seconds if len(clusters) == 2 else waiting.seconds or OTHERS_SECONDS
    until = {name: began + waiting.silent.seconds(name, seconds) for name in clusters}

    def is_enough(answers: Answers) -> bool:
        if len(answers) == len(asked) or any(_holds(name, answers, run) for name in answers):
            return True
        over = all(clock.monotonic() > until[name] for name in clusters if name not in answers)
        return over and _without_the_others(answers, target)

    wait_until(
        lambda: {name: _answer(question) for name, question in asked.items() if question.answered},
        is_enough,
        clock=clock,
        seconds=NEEDED_SECONDS,
        pause_seconds=_PAUSE_SECONDS,
    )
    for name, question in asked.items():
        if waiting.seconds and not question.answered and clock.monotonic() > until[name]:
            waiting.silent.give_up(name)
    return {name: _answer(question) for name, question in asked.items()}


def _without_the_others(answers: Answers, target: str | None) -> bool:
    """Whether the answers are enough to continue: the register that decides is among them."""
    states = states_of(answers)
    if target is not None:
        return target in states
    # Waiting does not help if records contradict each other: they are returned as they are.
    known = [found for found in states.values() if found is not None]
    return any(_goes_to(found) in (*states, None) for found in known)


def _answer(question: BackgroundCall[RegisterState | None]) -> RegisterState | KafkaDrError | None:
    try:
        return question.within(0)
    except KafkaDrError as error:
        return error


def _holds(cluster: str, answers: Answers, run: str) -> bool:
    answer = answers[cluster]
    if answer is None or isinstance(answer, KafkaDrError) or answer.run != run:
        return False
    won = not answer.is_unproven or is_on_majority(answer, states_of(answers))
    return won and answer.verb == "unplanned_failover" and arbiter(answer) == cluster


def _goes_to(state: RegisterState) -> str | None:
    """Return where an unplanned run takes the group, or has taken it; ``None`` if it has to name one of several."""
    if state.has_several and state.phase not in HOLDING:
        return None
    return arbiter(state) if state.verb == "unplanned_failover" else state.standby


def _highest(answers: Answers) -> tuple[RegisterState | None, dict[str, KafkaDrError]]:
    """Return the highest record, and the errors of the registers that did not give one.

    :raises UnknownSchema: a newer version of this project wrote one of them: it counts, whatever the others say
    """
    silent = {name: answer for name, answer in answers.items() if isinstance(answer, KafkaDrError)}
    require_known(silent)
    return highest(states_of(answers)), silent


def _could_go(state: RegisterState, silent: Collection[str]) -> bool:
    """Return whether an unplanned failover could take a group to its standby."""
    return not state.has_several and state.phase in VERBS["unplanned_failover"].takes and state.standby not in silent


def _unreadable(
    group: str, silent: Mapping[str, KafkaDrError], found: RegisterState | None = None
) -> NeedsPerson | ConnectionMistake:
    """Return the error of a register that decides and does not answer.

    :param found: the highest record of the others, if its standby could take the group over
    """
    said = "; ".join(str(error) for error in silent.values())
    if any(isinstance(error, ConnectionMistake) for error in silent.values()):
        return ConnectionMistake(
            f"the register that decides for {group} cannot be read, because what we connect with is wrong, and only it "
            f"knows whether a run has changed anything: {said}. Then run this again"
        )
    way = "Run this again when that cluster answers"
    if any(isinstance(error, RegisterUnusable) for error in silent.values()):
        way = "Run this again when that is done"
        if found is not None and _could_go(found, silent):
            way += (
                f". If {group} has to be moved before, dr_unplanned_failover with an override takes it to "
                f"{found.standby} without that register"
            )
    return NeedsPerson(
        f"the register that decides for {group} cannot be read ({said}), and only it knows whether a run "
        f"has changed anything. {way}"
    )

"""What the registers say about a group, and which of them decides. Nothing waits long for a dead cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial

from kafka_dr.clock import SystemClock
from kafka_dr.errors import ConnectionMistake, KafkaDrError, NeedsPerson
from kafka_dr.register import RegisterState, arbiter, highest
from kafka_dr.register.port import RegisterUnusable
from kafka_dr.register.state import require_known
from kafka_dr.register.transitions import MOVED_WITHOUT, require_pair
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

    A register that does not answer is tolerated only if another register's record says that it does not decide.

    :raises NeedsPerson: the records contradict each other, or the one that decides cannot be read
    :raises ConnectionMistake: the one that decides cannot be read, because what we connect with is wrong
    """
    found, silent = _highest(answers)
    if silent and (found is None or arbiter(found) in silent):
        raise _unreadable(group, silent, found)
    return found


def decided_without_source(group: str, answers: Answers, *, target: str | None) -> RegisterState | None:
    """Return the highest record for an unplanned failover, whose target decides, whatever the others say.

    :param target: as asked for; the standby of the highest record where ``None``
    :raises NeedsPerson: the records contradict each other, or the target's cannot be read
    :raises SeveralStandbys: the group is no pair
    :raises ConnectionMistake: the target's cannot be read, because what we connect with is wrong
    """
    found, silent = _highest(answers)
    if found is not None:
        require_pair(found, MOVED_WITHOUT)
    if silent and (found is None or (target or _goes_to(found)) in silent):
        raise _unreadable(group, silent)
    return found


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
    until = {name: began + waiting.silent.seconds(name, waiting.seconds) for name in clusters}

    def is_enough(answers: Answers) -> bool:
        if len(answers) == len(asked) or any(_holds(name, answer, run) for name, answer in answers.items()):
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
    states = {name: answer for name, answer in answers.items() if not isinstance(answer, KafkaDrError)}
    if target is not None:
        return target in states
    # Waiting does not help if records contradict each other: they are returned as they are.
    known = [found for found in states.values() if found is not None]
    # Nothing decides for a group with several standbys: whoever asks is refused.
    return any(len(found.standbys) > 1 or _goes_to(found) in states for found in known)


def _answer(question: BackgroundCall[RegisterState | None]) -> RegisterState | KafkaDrError | None:
    try:
        return question.within(0)
    except KafkaDrError as error:
        return error


def _holds(cluster: str, answer: RegisterState | KafkaDrError | None, run: str) -> bool:
    if answer is None or isinstance(answer, KafkaDrError) or answer.run != run:
        return False
    return answer.verb == "unplanned_failover" and arbiter(answer) == cluster


def _goes_to(state: RegisterState) -> str:
    """Return where an unplanned run takes the group, or has taken it."""
    return arbiter(state) if state.verb == "unplanned_failover" else state.standby


def _highest(answers: Answers) -> tuple[RegisterState | None, dict[str, KafkaDrError]]:
    """Return the highest record, and the errors of the registers that did not give one.

    :raises UnknownSchema: a newer version of this project wrote one of them: it counts, whatever the others say
    """
    silent = {name: answer for name, answer in answers.items() if isinstance(answer, KafkaDrError)}
    require_known(silent)
    states = {name: answer for name, answer in answers.items() if not isinstance(answer, KafkaDrError)}
    return highest(states), silent


def _could_go(state: RegisterState, silent: Collection[str]) -> bool:
    """Return whether an unplanned failover could take a group to its standby."""
    is_pair = len(state.standbys) == 1
    return is_pair and state.phase in VERBS["unplanned_failover"].takes and state.standby not in silent


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

"""Who may still change a group, or journal about it: what a register's record has to say.

Several processes can execute one run: a task of Airflow, its retry, ``dr_resume``, the command line. One of them may be
held up, and wake up when another one has continued. Each takes the run first, with a new ``attempt`` in the record, so
that only the last one that took it may change anything.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_dr.register.state import Phase, RegisterState, Verb

#: Facts that license the hand-over, and where flows begin after it. They never change after it.
FINAL_AT_HAND_OVER = frozenset({"source_ends", "drained", "target_ends", "translations"})


@dataclass(frozen=True, slots=True)
class HeldBy:
    """One process of one run holds the group, since one claim and in one phase.

    :param epoch: of the record when the step began; a roll back and a new claim raise it
    :param attempt: with which the process took the run; another process raises it
    :param verb: which procedure has to hold the group; any where ``None``
    """

    run: str
    epoch: int
    phase: Phase
    attempt: int
    verb: Verb | None = None

    def permits(self, found: RegisterState) -> bool:
        """Return whether the record names this run, this epoch, this phase and this attempt."""
        wanted = (self.run, self.epoch, self.phase, self.attempt)
        return (found.run, found.epoch, found.phase, found.attempt) == wanted and self.verb in (None, found.verb)

    def __str__(self) -> str:
        by = f"run {self.run}" if self.verb is None else f"{self.verb} {self.run}"
        return f"{self.phase} by {by} (epoch {self.epoch}, attempt {self.attempt})"


@dataclass(frozen=True, slots=True)
class Author:
    """The process that journals a fact of a run.

    :param epoch: of the record that the process knows
    :param attempt: with which it took the run
    :param holds: whether the register that takes the fact has to say that this process holds the group. The register
        that decides says that; in the other one the fact is a copy, written after it
    """

    run: str
    epoch: int
    attempt: int
    holds: bool

    @property
    def order(self) -> tuple[int, int]:
        """Kept with the fact: an author of a lower order never replaces it."""
        return (self.epoch, self.attempt)

    def refusal(self, fact: str, found: RegisterState | None, written: tuple[int, int] | None) -> str:
        """Return why this process may not journal a fact in a register; empty if it may.

        :param found: the register's record of the group
        :param written: the order of the fact that the register holds; ``None`` if it holds none
        """
        if not self._is_current(found):
            return f"it says that the group is {said(found)}"
        if fact in FINAL_AT_HAND_OVER and found is not None and self._is_past_hand_over(found):
            return f"the group is {said(found)}, and this fact never changes after the hand-over"
        if written is not None and written > self.order:
            return f"it holds this fact as attempt {written[1]} of epoch {written[0]} wrote it"
        return ""

    def _is_current(self, found: RegisterState | None) -> bool:
        if self.holds:
            return found is not None and (found.run, found.epoch, found.attempt) == (self.run, *self.order)
        return found is None or found.epoch <= self.epoch

    def _is_past_hand_over(self, found: RegisterState) -> bool:
        return (found.run, found.epoch) == (self.run, self.epoch) and found.phase is not Phase.SWITCHING

    def __str__(self) -> str:
        return f"attempt {self.attempt} of run {self.run} (epoch {self.epoch})"


def said(found: RegisterState | None) -> str:
    """Return a record in words: phase, active cluster, run, epoch and, if a process took the run, its attempt."""
    if found is None:
        return "in no record"
    attempt = f", attempt {found.attempt} by {found.executor}" if found.attempt else ""
    return f"{found.phase} on {found.active} by {found.verb} {found.run} (epoch {found.epoch}{attempt})"

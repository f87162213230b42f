"""One attempt of a step. It ends in a record, and the record is in the evidence before the task ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from kafka_dr.causes import mistake
from kafka_dr.errors import ConnectionMistake, KafkaDrError, NeedsPerson, OutcomeUnknown, Refused, TryAgain
from kafka_dr.evidence.canonical import NotCanonical
from kafka_dr.evidence.known_secrets import SecretInEvidence
from kafka_dr.evidence.store import EvidenceUnwritable
from kafka_dr.outcomes import Check
from kafka_dr.runs import unfiled
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepFailed, StepOutcome, StepRecord, without_what_was_refused

#: ``if_good``: a claim that did not succeed has changed nothing.
WithoutStorage = Literal["never", "if_good", "always"]


@dataclass(slots=True)
class Attempt:
    """A step record in the making.

    :param goes_forward: whether its changes stay, even if its evidence is refused
    :param without_storage: when the run continues although the evidence cannot be filed; the registers keep it then
    :param file_earlier: files what earlier steps of the run could not file; called before its own evidence is filed
    """

    group: str
    run: str
    step: str
    number: int
    started_at: datetime
    started: float
    intent: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    proofs: tuple[Check, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    goes_forward: bool = False
    without_storage: WithoutStorage = "never"
    file_earlier: Callable[[], object] = lambda: None

    @classmethod
    def start(
        cls,
        group: str,
        run: str,
        clients: Clients,
        step: str,
        number: int,
        *,
        goes_forward: bool = False,
        without_storage: WithoutStorage | None = None,
    ) -> Attempt:
        """Begin an attempt now.

        :param group: the protection group
        :param run: the id of the run, below which the evidence is kept
        :param step: the name of the step
        :param number: of the step, from 1; the evidence is numbered by it
        :param goes_forward: see :class:`Attempt`
        :param without_storage: see :class:`Attempt`; where ``None``, always if its changes stay, else never
        :raises Refused: the topology declares no such group, so no evidence of it is kept
        """
        clients.topology.group(group)
        clock = clients.clock
        goes_on = without_storage or ("always" if goes_forward else "never")
        return cls(
            group,
            run,
            step,
            number,
            clock.now(),
            clock.monotonic(),
            goes_forward=goes_forward,
            without_storage=goes_on,
        )

    def carry_out(
        self, clients: Clients, work: Callable[[], tuple[StepOutcome, str]], *, refusal: StepOutcome = "failed"
    ) -> StepRecord:
        """Do the work and end the attempt with its outcome, or with the outcome that an error means.

        :param work: returns the outcome, and one sentence about it
        :param refusal: the outcome if something was refused
        :raises StepFailed: the outcome is not a good one
        """
        try:
            outcome, detail = work()
        except OutcomeUnknown as error:
            return self.end(clients, "unknown", str(error), passing=True)
        except (NeedsPerson, ConnectionMistake) as error:
            return self.end(clients, "unknown", str(error))
        except Refused as error:
            return self.end(clients, refusal, str(error))
        except KafkaDrError as error:
            return self.end(clients, "failed", str(error), passing=isinstance(error, TryAgain))
        except Exception as error:  # noqa: BLE001 - a mistake of this program stops the run as well, and is kept
            try:
                return self.end(clients, "failed", mistake(error))
            except StepFailed as failed:
                raise failed from error
        # A check or proof is unknown where somebody did not answer.
        return self.end(clients, outcome, detail, passing=outcome == "unknown")

    def end(self, clients: Clients, outcome: StepOutcome, detail: str, *, passing: bool = False) -> StepRecord:
        """End the attempt: write its evidence and return the record, which names the file.

        :param passing: whether the same step may succeed a moment later
        :raises StepFailed: the outcome is not a good one
        """
        record = StepRecord(
            group=self.group,
            run=self.run,
            step=self.step,
            number=self.number,
            outcome=outcome,
            started_at=self.started_at,
            finished_at=clients.clock.now(),
            seconds=round(clients.clock.monotonic() - self.started, 3),
            detail=detail,
            intent=self.intent,
            checks=self.checks,
            proofs=self.proofs,
            facts=self.facts,
        )
        record = self._keep(clients, record)
        if not record.good:
            raise StepFailed(record, passing=passing)
        return record

    def _keep(self, clients: Clients, record: StepRecord) -> StepRecord:
        """Write the evidence. If the evidence is refused, write that: every step leaves a record."""
        try:
            return self._filed(clients, record)
        except (SecretInEvidence, NotCanonical) as error:
            return self._filed(clients, without_what_was_refused(record, str(error), goes_forward=self.goes_forward))

    def _filed(self, clients: Clients, record: StepRecord) -> StepRecord:
        """File the evidence, or keep it in the registers if the run has to continue without its storage."""
        content = clients.evidence.checked(record.payload())
        try:
            self.file_earlier()
            kept = clients.evidence.write_checked(self.group, self.run, self.number, self.step, content)
        except EvidenceUnwritable as error:
            if self.without_storage == "never" or (self.without_storage == "if_good" and not record.good):
                raise
            where = unfiled.keep(
                clients,
                self.group,
                self.run,
                (self.number, self.step),
                record.payload(),
                at=record.finished_at,
                why=str(error),
            )
            return replace(record, evidence=where)
        return replace(record, evidence=str(kept.path), evidence_sha256=kept.sha256)

"""Evidence that could not be filed: the registers keep it, so that a run continues without its storage.

It is a fact of the run, ``unfiled.<nn>-<step>.<time>``, with the whole record of the step. It is filed later: before
the evidence of the run's next step, before the run is sealed, and by ``dr_health``. The fact then says where.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError, OutcomeUnknown
from kafka_dr.evidence.store import EvidenceUnwritable
from kafka_dr.runs.background import BackgroundCall
from kafka_dr.runs.clients import Clients

_PREFIX = "unfiled."
#: How long the registers have until one takes a fact, and then the others.
_ONE_SECONDS, _OTHERS_SECONDS = 20.0, 1.0


@dataclass(frozen=True, slots=True)
class UnfiledStep:
    """What a step saw, and is not in the evidence yet.

    :param fact: its name in the journal
    :param number: of the step, from 1
    :param record: what is to be filed
    """

    fact: str
    number: int
    step: str
    record: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.number:02d}-{self.step}"


def write_to_any(
    clients: Clients,
    group: str,
    run: str,
    fact: str,
    payload: Mapping[str, Any],
    *,
    others_seconds: float = _OTHERS_SECONDS,
) -> tuple[str, ...]:
    """Journal a fact in the registers of the group's clusters; one has to take it.

    :param others_seconds: how long the others have once one has taken it
    :returns: the clusters whose registers have it; another one may take it later
    :raises OutcomeUnknown: no register took it
    """
    answers: SimpleQueue[tuple[str, KafkaDrError | None]] = SimpleQueue()

    def write(cluster: str) -> None:
        try:
            clients.register(cluster).write_fact(group, run, fact, payload)
        except KafkaDrError as error:
            answers.put((cluster, error))
        else:
            answers.put((cluster, None))

    clusters = clients.topology.group(group).clusters
    for cluster in clusters:
        BackgroundCall(f"a fact for {cluster}", partial(write, cluster))
    taken: list[str] = []
    refused: list[str] = []
    deadline = monotonic() + _ONE_SECONDS
    with suppress(Empty):
        while len(taken) + len(refused) < len(clusters):
            cluster, error = answers.get(timeout=max(0.0, deadline - monotonic()))
            if error is None:
                taken.append(cluster)
                deadline = min(deadline, monotonic() + others_seconds)
            else:
                refused.append(f"{cluster}: {error}")
    if not taken:
        said = "; ".join(refused) or f"no answer within {duration(_ONE_SECONDS)}"
        raise OutcomeUnknown(f"no register of {group} took the fact {fact} of run {run}: {said}")
    return tuple(taken)


def keep(
    clients: Clients, group: str, run: str, step: tuple[int, str], record: Mapping[str, Any], *, at: datetime, why: str
) -> str:
    """Keep what a step saw in the registers, checked for secrets as evidence is.

    :param step: its number and name
    :param record: what is to be filed
    :param at: when, aware; of two attempts the earlier one is filed first
    :param why: the evidence could not be filed
    :returns: where it is kept, for a person
    :raises SecretInEvidence: it holds a secret; nothing was kept
    :raises EvidenceUnwritable: no register took it, either
    """
    fact = f"{_PREFIX}{step[0]:02d}-{step[1]}.{at:%Y%m%dT%H%M%S%f}"
    content = clients.evidence.checked(record)
    try:
        taken = write_to_any(
            clients, group, run, fact, {"number": step[0], "step": step[1], "record": content, "why": why}
        )
    except KafkaDrError as error:
        raise EvidenceUnwritable(f"{why} The registers do not keep it, either: {error}") from error
    return f"not filed; the register of {' and of '.join(taken)} keeps it as {fact}, and it is filed later. {why}"


def waiting_in(journals: Iterable[Mapping[str, Any]]) -> tuple[UnfiledStep, ...]:
    """Return what a run saw and is not in the evidence yet, oldest first.

    :param journals: the facts of the run, of each register that answered: what one of them calls filed, is
    """
    newest: dict[str, Mapping[str, Any]] = {}
    for facts in journals:
        for name in facts:
            if name.startswith(_PREFIX) and "filed" not in newest.get(name, {}):
                newest[name] = facts[name]
    found = [
        UnfiledStep(name, int(fact["number"]), str(fact["step"]), fact["record"])
        for name, fact in newest.items()
        if "filed" not in fact
    ]
    return tuple(sorted(found, key=lambda each: (each.fact.rpartition(".")[2], each.number)))


def file_all(clients: Clients, group: str, run: str, waiting: Sequence[UnfiledStep]) -> tuple[UnfiledStep, ...]:
    """File what waits, oldest first, and return what still could not be filed.

    After the first that fails nothing more is tried, so that attempts keep their order.
    """
    for position, each in enumerate(waiting):
        try:
            kept = clients.evidence.write_once(group, run, each.number, each.step, each.record)
        except (EvidenceUnwritable, OSError):
            return tuple(waiting[position:])
        filed = {"filed": kept.path, "sha256": kept.sha256, "at": clients.clock.now().isoformat()}
        # A register that does not take it keeps the record, and it is compared before it is filed again.
        with suppress(KafkaDrError):
            write_to_any(clients, group, run, each.fact, filed)
    return ()

"""Sealing the evidence of a run: signed, linked to the group's seal before it, and known to the registers.

The evidence store alone cannot show that a whole run was removed. The registers can: each holds the digest of every
run's newest seal, and each seal names the one before it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.evidence.seal import PreviousSeal, Seal
from kafka_dr.evidence.signing import SigningKey, fingerprint
from kafka_dr.evidence.store import EvidenceUnwritable
from kafka_dr.outcomes import Check
from kafka_dr.runs import background, unfiled
from kafka_dr.runs.clients import Clients

#: The name of the fact.
SEALED = "sealed"
#: In place of a run in the journal: its facts are the seals of all runs of the group, by number.
_NUMBERS = "_seals"
#: How long a register may take to answer: a cluster that is down does not keep a run from its seal.
_REGISTER_SECONDS = 5.0
_LOG = logging.getLogger(__name__)

#: Everything that a register holds about a group, by run and fact.
History = Mapping[str, Mapping[str, Any]]


def seal_run(clients: Clients, group: str, run: str) -> Seal:
    """Seal the evidence of a run, and write the seal's digest to every register of the group that answers.

    What steps of the run could not file is filed before. If that is not possible, the seal says that it is incomplete.

    Sealed again without news nothing changes, except in a register that does not know the digest yet.

    :raises EvidenceChanged: a file that was sealed before is no longer what it was
    :raises EvidenceUnwritable: the storage fails
    :raises Refused: the topology names a signing key that cannot be used
    """
    key = clients.signing_key
    histories = _histories(clients, group)
    waiting = unfiled.waiting_in(history.get(run, {}) for history in histories.values())
    missing = [str(each) for each in unfiled.file_all(clients, group, run, waiting)]
    seal, number = _numbered(clients, group, run, histories, key=key, incomplete=missing)
    fact = {
        "manifest": seal.manifest,
        "digest": seal.digest,
        "sequence": number,
        "public_key": key.public_pem if key is not None else None,
        "sealed_at": clients.clock.now().isoformat(),
    }
    without = [name for name, found in histories.items() if _digest_in(found, run) != seal.digest]
    _ask_each(without, lambda cluster: clients.register(cluster).write_fact(group, run, SEALED, fact))
    return seal


def _numbered(
    clients: Clients,
    group: str,
    run: str,
    histories: Mapping[str, History],
    *,
    key: SigningKey | None,
    incomplete: Sequence[str],
) -> tuple[Seal, int]:
    """Seal a run, and return its seal and the number of it among the group's seals.

    Two runs that are sealed at once name the same seal before theirs. A register decides which of them has the number;
    the other run is sealed again, after that one.
    """
    previous = newest_seal(histories.values())
    seal = clients.evidence.seal(group, run, previous=previous, key=key, incomplete=incomplete)
    number = sequence(histories.values(), seal.digest)
    if any(_digest_in(found, run) == seal.digest for found in histories.values()):
        return seal, number
    while (first := _taken(clients, group, histories, number, seal)) is not None:
        previous = PreviousSeal(str(first["run"]), str(first["manifest"]), str(first["digest"]))
        seal = clients.evidence.seal(group, run, previous=previous, key=key, incomplete=incomplete, again=True)
        number += 1
    return seal, number


def _taken(
    clients: Clients, group: str, histories: Mapping[str, History], number: int, seal: Seal
) -> Mapping[str, Any] | None:
    """Take a number for a seal; return the seal that has it already, if one has.

    :param histories: the first register of the topology that answered decides
    """
    decides = next((name for name in clients.topology.group(group).clusters if name in histories), None)
    if decides is None:
        return None
    own = {"run": seal.run, "manifest": seal.manifest, "digest": seal.digest}
    try:
        found = background.ask(
            f"the register of {decides}",
            lambda: clients.register(decides).add_fact(group, _NUMBERS, str(number), own),
            seconds=_REGISTER_SECONDS,
        )
    except KafkaDrError as error:
        _LOG.warning("Whether another run of %s has the seal number %s is not known: %s", group, number, error)
        return None
    return None if found["digest"] == seal.digest else found


def seal_or_later(clients: Clients, group: str, run: str) -> Seal | None:
    """Seal the evidence of a run that has done its work; ``None`` if its storage does not permit that now.

    ``dr_health`` then files what the registers keep, and seals the run.

    :raises EvidenceChanged: a file that was sealed before is no longer what it was
    :raises Refused: the topology names a signing key that cannot be used
    """
    try:
        return seal_run(clients, group, run)
    except (EvidenceUnwritable, OSError) as error:
        _LOG.warning("Run %s is not sealed yet, dr_health seals it later: %s", run, error)
        return None


def evidence_can_be_signed(clients: Clients) -> Check:
    """Return whether the key that the topology names for sealed runs can be used: without it a run ends unsealed."""
    connection = clients.topology.evidence.signing_connection
    try:
        key = clients.signing_key
    except Refused as error:
        return Check("evidence_can_be_signed", "failed", str(error))
    if key is None:
        said = "the topology names no evidence.signing_connection: the run is sealed unsigned"
        return Check("evidence_can_be_signed", "ok", said)
    said = f"the key of {connection} signs the run ({fingerprint(key.public_pem)[:16]}…)"
    return Check("evidence_can_be_signed", "ok", said)


def newest_seal(histories: Iterable[History]) -> PreviousSeal | None:
    """Return the group's newest seal that the registers know; ``None`` if they know none.

    :param histories: of each register that answered
    """
    facts = [(fact, run) for history in histories for run, fact in _sealed(history).items()]
    if not facts:
        return None
    fact, run = max(facts, key=lambda found: int(found[0]["sequence"]))
    return PreviousSeal(run, str(fact["manifest"]), str(fact["digest"]))


def sequence(histories: Iterable[History], digest: str) -> int:
    """Return the number of a seal among the group's seals: that which it has, or the next one.

    :param histories: of each register that answered
    """
    known = [fact for history in histories for fact in _sealed(history).values()]
    own = [int(fact["sequence"]) for fact in known if fact["digest"] == digest]
    return own[0] if own else max((int(fact["sequence"]) for fact in known), default=0) + 1


def sealed_since(journals: Iterable[Mapping[str, Any]], at: datetime) -> bool:
    """Return whether a register knows a seal of a run that was made after a moment.

    :param journals: the facts of the run, of each register that answered
    """
    facts = [found[SEALED] for found in journals if SEALED in found]
    return any(datetime.fromisoformat(fact["sealed_at"]) >= at for fact in facts if "sealed_at" in fact)


def _digest_in(history: History, run: str) -> str | None:
    found: str | None = _sealed(history).get(run, {}).get("digest")
    return found


def _sealed(history: History) -> dict[str, Mapping[str, Any]]:
    return {run: facts[SEALED] for run, facts in history.items() if SEALED in facts}


def _histories(clients: Clients, group: str) -> dict[str, History]:
    answers = _ask_each(
        clients.topology.group(group).clusters, lambda cluster: clients.register(cluster).history(group)
    )
    return {cluster: found for cluster, found in answers.items() if not isinstance(found, KafkaDrError)}


def _ask_each(clusters: Iterable[str], question: Any) -> dict[str, Any]:
    questions = {cluster: partial(question, cluster) for cluster in clusters}
    return background.answers_within(questions, seconds=_REGISTER_SECONDS)

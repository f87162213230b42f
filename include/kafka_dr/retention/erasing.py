"""Erasing content of stranded records: what is there, the record of it in registers and evidence, and the change.

The order makes it safe to die anywhere and to run again: drafts, the fact in the register that decides, the files, the
sealed evidence.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from kafka_dr.approvals.journaled import BY_NOBODY
from kafka_dr.approvals.signed import sign_erasure
from kafka_dr.audit.erasure import Erasure, erasures_in
from kafka_dr.audit.stranded import StrandedList, StrandedStore, StrandedUnreadable
from kafka_dr.codec import NotDecoded
from kafka_dr.errors import NeedsPerson, Refused
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.json_documents import JsonFile
from kafka_dr.register import Phase, RegisterState
from kafka_dr.rescue.erasing import KeptList, Matches, Wanted
from kafka_dr.retention.registers import read_registers
from kafka_dr.runs import background
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.register_read import NEEDED_SECONDS
from kafka_dr.runs.sealing import seal_run

#: The step that writes the evidence of an erasure, and the version of the copy of its fact.
ERASE_STEP, ERASURE_SCHEMA = "erase", 1
#: The number of the step in the evidence, which is no step of a verb.
_NUMBER = 92


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Who confirms that something is erased.

    :param name: of an approver whose key signs; as it was given if nobody verified it
    :param verified: how it is known who that is
    :param key: the approver's own key; ``None``: nothing is signed
    """

    name: str
    verified: str = BY_NOBODY
    key: SigningKey | None = None

    def of(self, erasure: Erasure, group: str, left_by: str) -> Erasure:
        """Return an erasure as it is confirmed: this is what its signature covers.

        :param left_by: the unplanned failover that left the records
        """
        confirmed = replace(erasure, approver=self.name, verified=self.verified)
        if self.key is None:
            return confirmed
        return replace(confirmed, signature=sign_erasure(confirmed.to_json(), group, left_by, self.key))


@dataclass(frozen=True, slots=True)
class ErasureRequest:
    """What somebody wants to be erased.

    :param by: who, as it was given
    :param confirmed: who confirms it; ``None``: it can only be looked at
    """

    group: str
    wanted: Wanted
    by: str
    reason: str
    confirmed: Confirmation | None = None


@dataclass(frozen=True, slots=True)
class ErasedList:
    """What was found in one list, and what was done.

    :param left_by: the unplanned failover that left the records
    :param old: the cluster that may still hold them
    :param new: the cluster to which they may have been published again
    :param erasure: what was erased by this call; ``None`` if nothing was
    :param finished: files whose erasure an earlier call had begun
    :param former: folders of earlier attempts to make the list
    :param newer: folders that no list names, and that a job may be writing
    """

    left_by: str
    old: str
    new: str
    matches: Matches
    erasure: Erasure | None
    finished: tuple[str, ...]
    former: tuple[str, ...]
    newer: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Eraser:
    """Erases content from the lists of one protection group.

    :param request: what is wanted
    """

    clients: Clients
    request: ErasureRequest

    def lists(self) -> tuple[str, ...]:
        """Return the unplanned failovers of which a list of stranded records is kept.

        :raises OSError: the storage does not answer
        """
        folder = self.clients.evidence_root.joinpath("stranded", self.request.group)
        try:
            return tuple(sorted(path.name for path in folder.iterdir()))
        except FileNotFoundError:
            return ()

    def look(self, left_by: str) -> ErasedList:
        """Return what there is to erase; nothing is changed.

        :raises KafkaDrError: it cannot be found out, or the list cannot be read
        """
        _, facts = self._registers()
        found = self._list(left_by)
        kept = self._kept(found, facts)
        return _result(found, kept, kept.matches(self.request.wanted))

    def erase(self, left_by: str) -> ErasedList:
        """Erase it. What an earlier call had begun is finished first.

        :raises Refused: nobody confirmed it, a failback holds the group, or somebody else was faster; nothing was
            changed
        :raises OutcomeUnknown: whether a register knows of it was not found out; nothing else was changed
        """
        confirmed = self.request.confirmed
        if confirmed is None:
            raise Refused("nobody confirmed that this is erased: nothing was changed")
        state, facts = self._registers()
        found = self._list(left_by)
        kept = self._kept(found, facts)
        finished = kept.finish()
        matches = kept.matches(self.request.wanted)
        former, erasure = kept.former_folders(), None
        if matches.total:
            erasure = confirmed.of(self._new(kept, matches), self.request.group, left_by)
            self._journal(state, left_by, erasure)
            kept = replace(kept, erasures=(*kept.erasures, erasure))
            kept.finish()
        if self._list(left_by) != found:
            raise Refused(f"the list of {left_by} was made again meanwhile: run this again")
        kept.remove_former()
        for each in kept.erasures:
            self._keep_record(kept, each, facts)
        return replace(_result(found, kept, matches), erasure=erasure, finished=finished, former=former)

    def _kept(self, found: StrandedList, facts: Mapping[str, Mapping[str, Any]]) -> KeptList:
        erasures = _erasures(facts, found.run)
        # Without a wish for a key nothing has to be opened, and a lost key keeps nothing from being erased.
        by_key = self.request.wanted.key is not None or any(each.key_sha256 for each in erasures)
        keys = self.clients.content_keys if by_key and found.encryption is not None else None
        return KeptList(found, self._store(found.run).folder, erasures, keys)

    def _new(self, kept: KeptList, matches: Matches) -> Erasure:
        request, at = self.request, self.clients.clock.now()
        erasure = Erasure(
            number=1 + max((each.number for each in kept.erasures), default=0),
            run=f"erase__{at:%Y-%m-%dT%H:%M:%S%z}.{secrets.token_hex(4)}",
            at=at,
            by=request.by,
            reason=request.reason,
            topic=request.wanted.topic,
            key_sha256=request.wanted.key_sha256(kept.found.run),
            records=matches.total,
            files=(),
        )
        # A secret in the reason is refused before anything is written.
        self.clients.evidence.checked(_evidence(kept.found, erasure))
        return replace(erasure, files=kept.draft(matches.files, request.wanted))

    def _journal(self, state: RegisterState, left_by: str, erasure: Erasure) -> None:
        """Journal it in the register that decides: from then on, the files have to be as it says."""
        self._registers()
        register = self.clients.register(state.active)
        journaled = register.add_fact(self.request.group, left_by, erasure.name, erasure.to_json())
        if Erasure.from_json(journaled) != erasure:
            raise Refused(f"another erasure of the list of {left_by} is running: run this again")

    def _keep_record(self, kept: KeptList, erasure: Erasure, facts: Mapping[str, Mapping[str, Any]]) -> None:
        """Write the record of an erasure wherever it is missing: next to the list, to the evidence, to registers."""
        group, left_by = self.request.group, kept.found.run
        erasure_file(kept.folder, erasure.number).write(erasure)
        missing = [name for name, found in facts.items() if erasure.name not in found.get(left_by, {})]
        questions = {
            name: partial(self.clients.register(name).write_fact, group, left_by, erasure.name, erasure.to_json())
            for name in missing
        }
        background.answers_within(questions, seconds=NEEDED_SECONDS)
        self.clients.evidence.write_once(group, erasure.run, _NUMBER, ERASE_STEP, _evidence(kept.found, erasure))
        seal_run(self.clients, group, erasure.run)

    def _registers(self) -> tuple[RegisterState, Mapping[str, Mapping[str, Any]]]:
        """Return the group's record, and what each register that answers has journaled, the deciding one last.

        :raises Refused: a failback holds the group: what it reads must not change, or the group is not adopted
        :raises NeedsPerson: the register that decides does not answer
        """
        found = read_registers(self.clients, self.request.group)
        state = found.state
        if state.phase is Phase.DIVERGED and state.is_held:
            raise Refused(
                f"the failback {state.run} holds {state.group}, and reads the list of stranded records: finish or "
                "abandon it, then run this again"
            )
        return state, found.histories

    def _store(self, left_by: str) -> StrandedStore:
        return StrandedStore(self.clients.evidence_root, self.request.group, left_by)

    def _list(self, left_by: str) -> StrandedList:
        try:
            found = self._store(left_by).read()
        except StrandedUnreadable as error:
            raise NeedsPerson(f"{error}: restore it from a copy, then run this again") from error
        if found is None:
            folder = self._store(left_by).folder
            raise NeedsPerson(f"{folder} holds no list (summary.json): remove the folder if nobody needs it")
        return found


def erasure_file(folder: object, number: int) -> JsonFile[Erasure]:
    """Return the copy of an erasure's fact next to a list.

    :param folder: of the list, a path object
    :param number: of the erasure, from 1
    """
    path = folder.joinpath(f"erased-{number}.json")  # type: ignore[attr-defined]
    return JsonFile.of(Erasure, path, ERASURE_SCHEMA)


def _erasures(facts: Mapping[str, Mapping[str, Any]], left_by: str) -> tuple[Erasure, ...]:
    """Return what was erased from a list, as any register knows it."""
    merged: dict[str, Any] = {}
    for found in facts.values():
        merged |= found.get(left_by, {})
    try:
        return erasures_in(merged)
    except NotDecoded as error:
        raise NeedsPerson(f"a register's record of what was erased from {left_by} cannot be read: {error}") from error


def _result(found: StrandedList, kept: KeptList, matches: Matches) -> ErasedList:
    return ErasedList(found.run, found.old, found.new, matches, None, (), kept.former_folders(), kept.newer_folders())


def _evidence(found: StrandedList, erasure: Erasure) -> dict[str, Any]:
    said = f"the content of {erasure.records} stranded records of {found.run} was {erasure.sentence}"
    at = erasure.at.isoformat()
    facts = {"left_by": found.run, "reason": erasure.reason, **erasure.to_json()}
    return {"outcome": "done", "started_at": at, "finished_at": at, "detail": said, "facts": facts}

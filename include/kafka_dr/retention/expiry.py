"""What a topology keeps for a time only: content of kept stranded records, and evidence of runs.

Nothing of a group expires unless its record is ``stable``: no run holds it, and no failback still needs what is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from kafka_dr.audit.stranded import StrandedStore, StrandedUnreadable
from kafka_dr.causes import cause
from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.json_documents import DocumentDamaged, JsonFile
from kafka_dr.register import Phase
from kafka_dr.rescue.erasing import Wanted, made_at
from kafka_dr.retention.erasing import Confirmation, ErasedList, Eraser, ErasureRequest
from kafka_dr.retention.old_runs import FoundRuns, OldRuns, in_words
from kafka_dr.retention.registers import GroupRegisters, read_registers
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.sealing import SEALED

#: Who erases, as records of erasures name it.
BY_RULE = "the topology"
_EVERY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Expired:
    """What has expired of a group, and, if it was to be removed, what was removed.

    :param lists: lists of stranded records with content that has expired
    :param runs: runs whose evidence has expired
    :param recorded_by: the run that recorded which runs were removed; empty if none were
    :param problems: a sentence for each thing that could not be looked at or removed, and stays
    """

    lists: tuple[ErasedList, ...] = ()
    runs: FoundRuns = field(default_factory=FoundRuns)
    recorded_by: str = ""
    problems: tuple[str, ...] = ()

    @property
    def anything(self) -> bool:
        """Whether there is something to remove."""
        return bool(self.lists or self.runs.expired or self.runs.half_removed)

    def sentences(self, *, confirmed: bool) -> Iterator[str]:
        """Yield it in words.

        :param confirmed: whether it was removed
        """
        was = "was" if confirmed else "would be"
        for each in self.lists:
            yield f"the content of {each.matches.total} stranded records of {each.left_by} {was} erased"
        if self.runs.expired:
            record = f"; recorded as run {self.recorded_by}" if self.recorded_by else ""
            yield f"the evidence of {in_words(self.runs.expired)} {was} removed, their seals stay{record}"
        for half in self.runs.half_removed:
            yield f"the removal of the evidence of {half.run}, which had begun, {was} finished"
        if self.runs.more:
            yield f"{self.runs.more} more runs follow with the next call"
        yield from self.problems


@dataclass(frozen=True, slots=True)
class Expiry:
    """Applies the topology's rules of retention to one protection group."""

    clients: Clients
    group: str

    @property
    def rules(self) -> Mapping[str, timedelta]:
        """The rules that are declared."""
        return self.clients.topology.evidence.retention.rules

    def look(self) -> Expired:
        """Return what has expired; nothing is changed.

        :raises Refused: nothing of this group may expire now
        :raises KafkaDrError: the registers do not say whether it may
        """
        return self._applied(confirmed=False)

    def remove(self) -> Expired:
        """Remove what has expired, with a record of it.

        :raises Refused: nothing of this group may expire now; nothing was changed
        :raises KafkaDrError: the registers do not say whether it may; nothing was changed
        """
        return self._applied(confirmed=True)

    def _applied(self, *, confirmed: bool) -> Expired:
        registers = self._at_rest()
        lists: list[ErasedList] = []
        problems: list[str] = []
        runs, recorder = FoundRuns(), ""
        if "payloads_days" in self.rules:
            for left_by in Eraser(self.clients, self._request("")).lists():
                try:
                    lists += self._list(left_by, registers, confirmed=confirmed)
                except (KafkaDrError, OSError, StrandedUnreadable) as error:
                    problems.append(f"the stranded records of {left_by} are kept: {cause(error)}")
        if "runs_days" in self.rules:
            old = OldRuns(self.clients, self.group, registers)
            try:
                runs = old.find(self.rules["runs_days"])
                recorder = old.remove(runs, self._rule("runs_days")) if confirmed else ""
            except (KafkaDrError, OSError) as error:
                problems.append(f"old runs are kept: {cause(error)}")
            problems += runs.kept
        return Expired(tuple(lists), runs, recorder, tuple(problems))

    def _at_rest(self) -> GroupRegisters:
        registers = read_registers(self.clients, self.group)
        state = registers.state
        if state.phase is not Phase.STABLE:
            raise Refused(
                f"{self.group} is {state.phase} by run {state.run}: what is kept of it may still be needed, so nothing "
                "expires until it is stable"
            )
        if registers.silent:
            raise Refused(
                f"the register of {', '.join(registers.silent)} does not answer, and may know of a run that needs what "
                "is kept: nothing expires until it answers"
            )
        return registers

    def _list(self, left_by: str, registers: GroupRegisters, *, confirmed: bool) -> Iterator[ErasedList]:
        """Yield a list whose content has expired, erased if that is confirmed."""
        found = StrandedStore(self.clients.evidence_root, self.group, left_by).read()
        if found is None:
            raise Refused(
                f"there is no list (summary.json) in stranded/{self.group}/{left_by}: remove what nobody needs"
            )
        since = max((found.at, *_failed_back(registers, left_by)))
        if since + self.rules["payloads_days"] > self.clients.clock.now():
            return
        eraser = Eraser(self.clients, self._request(f"{self._rule('payloads_days')}, needed until {since:%Y-%m-%d}"))
        looked = eraser.look(left_by)
        if looked.matches.total or looked.former:
            yield eraser.erase(left_by) if confirmed else looked
        if confirmed:
            self._remove_attempts(left_by, looked)

    def _remove_attempts(self, left_by: str, looked: ErasedList) -> None:
        """Remove what jobs wrote that died before they made a list of it, so long ago that none can still run."""
        folder = StrandedStore(self.clients.evidence_root, self.group, left_by).folder
        before = self.clients.clock.now() - self.rules["payloads_days"]
        for name in looked.newer:
            if made_at(name) < before:
                folder.joinpath(name).rmdir(recursive=True)

    def _request(self, reason: str) -> ErasureRequest:
        return ErasureRequest(self.group, Wanted(), BY_RULE, reason, Confirmation(BY_RULE, "its rule in Git"))

    def _rule(self, name: str) -> str:
        return f"evidence.retention.{name}: {self.rules[name].days}"


def expire_daily(group: str, clients: Clients) -> WatchResult:
    """Apply the topology's rules of retention to a group, once a day.

    :returns: ``unknown`` if something could not be looked at or removed; it is tried again with the next call
    """
    expiry = Expiry(clients, group)
    if not expiry.rules:
        return WatchResult(group, "ok", ())
    now, last = clients.clock.now(), _last_look(clients.evidence_root, group)
    try:
        if (then := last.read()) is not None and timedelta(0) <= now - then < _EVERY:
            return WatchResult(group, "ok", ())
    except DocumentDamaged:
        pass  # It is replaced.
    except OSError as error:
        return WatchResult(group, "unknown", (f"whether anything has expired is not known: {cause(error)}",))
    try:
        found = expiry.remove()
        if not found.problems and not found.runs.more:
            last.write(now)
    except Refused as error:
        return WatchResult(group, "ok", (str(error),))
    except (KafkaDrError, OSError) as error:
        return WatchResult(group, "unknown", (f"whether anything has expired is not known: {cause(error)}",))
    return WatchResult(
        group, "unknown" if found.problems else "ok", tuple(found.sentences(confirmed=True)) or ("nothing has expired",)
    )


def _last_look(root: Any, group: str) -> JsonFile[datetime]:
    """Return the file that says when expired content and evidence were last looked for."""
    return JsonFile(
        root.joinpath("retention", f"{group}.json"),
        1,
        lambda at: {"at": at.astimezone(UTC).isoformat()},
        lambda found: datetime.fromisoformat(found["at"]).astimezone(UTC),
    )


def _failed_back(registers: GroupRegisters, left_by: str) -> Iterator[datetime]:
    """Yield when failbacks that needed a list were caught up, or sealed.

    :param left_by: the unplanned failover that left the records
    """
    for history in registers.histories.values():
        for facts in history.values():
            if facts.get("claim", {}).get("left_by") != left_by:
                continue
            times = (facts.get("caught_up", {}).get("at"), facts.get(SEALED, {}).get("sealed_at"))
            yield from (datetime.fromisoformat(at) for at in times if at)

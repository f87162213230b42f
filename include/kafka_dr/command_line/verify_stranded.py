"""What ``verify`` says about a list of stranded records: its files, and what was erased from them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from kafka_dr import quoting
from kafka_dr.approvals.journaled import BY_KEY
from kafka_dr.approvals.signed import erasure_is_signed
from kafka_dr.audit.erasure import Erasure
from kafka_dr.audit.stranded import StrandedList, StrandedStore, StrandedUnreadable
from kafka_dr.codec import NotDecoded
from kafka_dr.evidence.canonical import digest
from kafka_dr.evidence.sealed_run_check import SealVerdict, check_sealed_run
from kafka_dr.evidence.store import EvidenceStore
from kafka_dr.json_documents import DocumentDamaged
from kafka_dr.rescue.kept import missing_from
from kafka_dr.retention.erasing import ERASE_STEP, erasure_file
from kafka_dr.topology.model import Topology


@dataclass(frozen=True, slots=True)
class StrandedReport:
    """What was found in the folder of a list.

    :param erased: a sentence for each file that an erasure changed, and for each signature that was checked
    :param changed: a sentence for each thing that is not as it was kept
    :param unproven: a sentence for each thing that could not be proven
    """

    group: str
    run: str
    erased: tuple[str, ...]
    changed: tuple[str, ...]
    unproven: tuple[str, ...]

    @property
    def verdict(self) -> SealVerdict:
        """What it means: the list is no sealed run, so its folder alone never proves it."""
        return "changed" if self.changed else "unproven"

    def as_json(self) -> str:
        """Return one JSON object with everything that was found."""
        return json.dumps({"verdict": self.verdict, **asdict(self)}, indent=1)

    def in_words(self) -> str:
        """Return the verdict and a line for each thing that led to it."""
        return "\n".join(quoting.line(text) for text in self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"stranded records of run {self.run} of {self.group}"
        yield "CHANGED: this is not what was kept" if self.changed else "NOT PROVEN: nothing speaks against it"
        yield from (f"  changed: {said}" for said in self.changed)
        yield from (f"  erased: {said}" for said in self.erased)
        yield from (f"  not proven: {said}" for said in self.unproven)


def is_list(folder: Path) -> bool:
    """Return whether a folder is that of a list of stranded records: EVIDENCE_ROOT/stranded/GROUP/RUN."""
    return folder.parent.parent.name == "stranded" and folder.joinpath("summary.json").exists()


def check_list(folder: Path, *, trusted: str | None = None, topology: Topology | None = None) -> StrandedReport:
    """Check the files of a list, and of each erasure its sealed evidence and its approver's signature.

    Reads nothing but the evidence root.

    :param folder: of the list
    :param trusted: the public key in PEM that is known to be the right one
    :param topology: declares the keys of approvers; without it their signatures are not proven
    :raises UnusableKey: ``trusted`` is no public key
    """
    root, group, run = folder.parent.parent.parent, folder.parent.name, folder.name
    try:
        found, erasures = StrandedStore(root, group, run).read(), _erasures(folder)
    except (StrandedUnreadable, DocumentDamaged) as error:
        return StrandedReport(group, run, (), (str(error),), ())
    if found is None:
        return StrandedReport(group, run, (), (f"{folder} holds no list (summary.json)",), ())
    changed = [wrong] if (wrong := missing_from(found, folder, erasures)) else []
    unproven = [
        f"whoever can write this folder could have written all of it: compare the list's digest {_digest(found)} with "
        "decision.stranded.list_sha256 in the sealed evidence of the failback"
    ]
    for erasure in erasures:
        wrong, open_ = _check(root, group, erasure, trusted)
        changed += [wrong] if wrong else []
        unproven += [open_] if open_ else []
    signed = [_signature(erasure, found, topology) for erasure in erasures if erasure.verified == BY_KEY]
    unproven += [said for said, holds in signed if not holds]
    said = tuple(
        f"{file.path}: records of it were {each.sentence}; see run {each.run}"
        for each in erasures
        for file in each.files
    )
    said += tuple(said for said, holds in signed if holds)
    return StrandedReport(group, run, said, tuple(changed), tuple(unproven))


def _erasures(folder: Path) -> tuple[Erasure, ...]:
    numbers = sorted(int(path.stem.partition("-")[2]) for path in folder.glob("erased-*.json"))
    return tuple(found for number in numbers if (found := erasure_file(folder, number).read()) is not None)


def _check(root: Path, group: str, erasure: Erasure, trusted: str | None) -> tuple[str, str]:
    """Return what is wrong about the sealed evidence of an erasure, and what stays unproven."""
    sealed = check_sealed_run(root / "runs" / group / erasure.run, trusted=trusted)
    if sealed.verdict == "changed":
        return f"{erasure.name}: the evidence of run {erasure.run} is not what was sealed: {sealed.changed[0]}", ""
    evidence = EvidenceStore(root).newest(group, erasure.run, ERASE_STEP)
    try:
        same = evidence is not None and Erasure.from_part(evidence["facts"]) == erasure
    except (NotDecoded, KeyError):
        same = False
    if not same:
        return f"{erasure.name}.json: it is not what the evidence of run {erasure.run} says", ""
    if sealed.verdict == "unproven":
        return "", f"{erasure.name}: {sealed.unproven[0]}"
    return "", ""


def _signature(erasure: Erasure, found: StrandedList, topology: Topology | None) -> tuple[str, bool]:
    """Say whether the approver that an erasure names has signed it, and return whether that is proven."""
    if topology is None:
        return f"{erasure.name}: the signature of {erasure.approver} was not checked: give --topology FILE", False
    group = topology.protection_groups.get(found.group)
    if group is None or erasure.approver not in group.approver_keys:
        return (
            f"{erasure.name}: the topology declares no key of {erasure.approver} in approver_keys of {found.group}",
            False,
        )
    if erasure_is_signed(erasure.to_json(), group, found.run):
        return f"{erasure.name}: {erasure.approver} signed it with the key that the topology declares", True
    return (
        f"{erasure.name}: it is not signed with the key that the topology declares for {erasure.approver}: the key was "
        "replaced since, or somebody else wrote it",
        False,
    )


def _digest(found: StrandedList) -> str:
    return digest(found.to_json())

"""What ``verify`` says about a list of stranded records: its files, and what was erased from them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from kafka_dr import quoting
from kafka_dr.audit.erasure import Erasure, ErasureUnreadable
from kafka_dr.audit.stranded import StrandedList, StrandedStore, StrandedUnreadable
from kafka_dr.evidence import EvidenceStore, digest
from kafka_dr.evidence.sealed_run_check import SealVerdict, check_sealed_run
from kafka_dr.json_documents import DocumentDamaged, JsonFile
from kafka_dr.rescue import missing_from

#: The step that writes the evidence of an erasure, and the version of the copy of its fact.
ERASE_STEP, ERASURE_SCHEMA = "erase", 1


@dataclass(frozen=True, slots=True)
class StrandedReport:
    """What was found in the folder of a list.

    :param erased: a sentence for each file that an erasure changed
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


def erasure_file(folder: object, number: int) -> JsonFile[Erasure]:
    """Return the copy of an erasure's fact next to a list.

    :param folder: of the list, a path object
    :param number: of the erasure, from 1
    """
    path = folder.joinpath(f"erased-{number}.json")  # type: ignore[attr-defined]
    return JsonFile(path, ERASURE_SCHEMA, Erasure.to_json, Erasure.from_json)


def is_list(folder: Path) -> bool:
    """Return whether a folder is that of a list of stranded records: EVIDENCE_ROOT/stranded/GROUP/RUN."""
    return folder.parent.parent.name == "stranded" and folder.joinpath("summary.json").exists()


def check_list(folder: Path, *, trusted: str | None = None) -> StrandedReport:
    """Check the files of a list, and the sealed evidence of each erasure. Reads nothing but the evidence root.

    :param folder: of the list
    :param trusted: the public key in PEM that is known to be the right one
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
    said = tuple(
        f"{file.path}: records of it were {each.sentence}; see run {each.run}"
        for each in erasures
        for file in each.files
    )
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
        same = evidence is not None and Erasure.from_json(evidence["facts"]) == erasure
    except (ErasureUnreadable, KeyError):
        same = False
    if not same:
        return f"{erasure.name}.json: it is not what the evidence of run {erasure.run} says", ""
    if sealed.verdict == "unproven":
        return "", f"{erasure.name}: {sealed.unproven[0]}"
    return "", ""


def _digest(found: StrandedList) -> str:
    return digest(found.to_json())

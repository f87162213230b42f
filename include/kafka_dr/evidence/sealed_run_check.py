"""Checking a sealed run from its folder alone: files, signature, and the seals that came before it.

A sealed run is a folder below ``runs/<group>/`` of the evidence root. Nothing but that folder and the folders of the
group's other runs is read; no register, no topology, no connection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kafka_dr.causes import cause
from kafka_dr.evidence.expired_run import EXPIRED, Tombstone, check_expired, stays, tombstone_in
from kafka_dr.evidence.seal import Manifest, PreviousSeal, compare_files, seal_names, seal_number
from kafka_dr.evidence.seal_signature import check_signature
from kafka_dr.evidence.signing import fingerprint
from kafka_dr.evidence.step_files import StepFile
from kafka_dr.evidence.storage_path import StoragePath, read_file, read_folder

#: ``sound``: nothing speaks against it. ``changed``: something was edited, removed or added after the seal.
#: ``unproven``: the files agree with each other, and whoever could write them all could have made them so.
SealVerdict = Literal["sound", "changed", "unproven"]


@dataclass(frozen=True, slots=True)
class SealedRunCheck:
    """What was found in the folder of a sealed run.

    :param changed: a sentence for each thing that is not as it was sealed
    :param unproven: a sentence for each thing that could not be proven
    :param signer: the fingerprint of the key that signed; empty if nobody did
    :param seals: how many seals of this run were checked
    :param chain: the runs whose seals were found to precede this one, newest first
    :param expired: by which rule the evidence of this run was removed, and who recorded it; empty if it was not
    """

    group: str
    run: str
    changed: tuple[str, ...]
    unproven: tuple[str, ...]
    signer: str
    seals: int
    chain: tuple[str, ...]
    expired: str = ""

    @property
    def verdict(self) -> SealVerdict:
        """What it means."""
        if self.changed:
            return "changed"
        return "unproven" if self.unproven else "sound"


def check_sealed_run(folder: StoragePath, *, trusted: str | None = None) -> SealedRunCheck:
    """Check every seal of a run, and that each seal that it builds on is still there.

    :param folder: the run's folder, with the folders of the group's other runs next to it
    :param trusted: the public key in PEM that is known to be the right one, from the register or from a person
    :raises UnusableKey: ``trusted`` is no public key
    """
    expected = fingerprint(trusted) if trusted is not None else None
    stored = read_folder(folder)
    numbers = sorted(filter(None, map(seal_number, stored)))
    if not numbers:
        return SealedRunCheck("", folder.name, (), (f"{folder.name} holds no seal: it was never sealed",), "", 0, ())
    changed: list[str] = []
    unproven: list[str] = []
    newest: Manifest | None = None
    gone: list[str] = []
    for number in numbers:
        try:
            newest = Manifest.from_json(json.loads(stored[seal_names(number)[1]]))
        except ValueError as error:
            changed.append(f"{seal_names(number)[1]}: it is not what was written ({cause(error)})")
            continue
        found = compare_files(newest, seal_names(number)[1], stored)
        changed += [f"{_named(name)}: its content is not what was sealed" for name in found.changed]
        gone += found.missing
        wrong, open_ = check_signature(number, newest, stored, expected)
        changed += wrong
        unproven += open_
    if newest is None:
        return SealedRunCheck("", folder.name, tuple(changed), (), "", len(numbers), ())
    if newest.run != folder.name:
        changed.append(f"the manifest is that of run {newest.run}, and the folder is that of run {folder.name}")
    tombstone, wrong, open_ = _expiry(folder, newest, stored, expected)
    removed = tombstone is not None and not wrong
    changed += wrong
    changed += [f"{_named(name)}: it was sealed and is missing" for name in gone if not (removed and not stays(name))]
    added = compare_files(newest, seal_names(numbers[-1])[1], stored).added
    changed += [f"{_named(name)}: it was added after the newest seal" for name in added if name != EXPIRED]
    unproven += open_
    unproven += [f"the evidence of {step} was never filed: the seal is incomplete" for step in newest.incomplete]
    chain, missing, unread = _chain(folder, newest)
    return SealedRunCheck(
        newest.group,
        newest.run,
        tuple(dict.fromkeys((*changed, *missing))),
        tuple(dict.fromkeys((*unproven, *unread))),
        newest.signer or "",
        len(numbers),
        chain,
        tombstone.sentence if tombstone is not None else "",
    )


def _expiry(
    folder: StoragePath, newest: Manifest, stored: Mapping[str, bytes], expected: str | None
) -> tuple[Tombstone | None, list[str], list[str]]:
    """Return what says that the evidence was removed, what speaks against that, and what stays unproven about it."""
    try:
        tombstone = tombstone_in(stored)
    except ValueError as error:
        return None, [f"{EXPIRED}: {cause(error)}"], []
    if tombstone is None:
        return None, [], []
    recorder = _sibling(folder, tombstone.recorded_by)
    if recorder is None:
        return tombstone, [f"{EXPIRED}: the run that it names cannot be found"], []
    return tombstone, *check_expired(recorder, newest, tombstone, expected)


def _chain(folder: StoragePath, newest: Manifest) -> tuple[tuple[str, ...], list[str], list[str]]:
    """Follow the seals that a seal builds on.

    :returns: the runs that were found, newest first; what is missing or changed; what cannot be said
    """
    found: list[str] = []
    wrong: list[str] = []
    unread: list[str] = []
    link, seen = newest.previous, {newest.digest}
    while link is not None and link.digest not in seen:
        seen.add(link.digest)
        sealed = _linked(folder, newest.run, link, wrong)
        if sealed is None:
            break
        found.append(link.run)
        link = sealed.previous
    return tuple(dict.fromkeys(found)), wrong, unread


def _linked(folder: StoragePath, run: str, link: PreviousSeal, wrong: list[str]) -> Manifest | None:
    """Return the manifest that a link names, and say what is wrong about it."""
    other = folder if link.run == run else _sibling(folder, link.run)
    data = read_file(other.joinpath(link.manifest)) if other is not None else None
    if data is None:
        wrong.append(f"run {link.run}: its seal {link.manifest} came before this one and is missing")
        return None
    try:
        manifest = Manifest.from_json(json.loads(data))
    except ValueError:
        manifest = None
    if manifest is None or manifest.digest != link.digest:
        wrong.append(f"run {link.run}: its seal {link.manifest} is not the one that came before this one")
        return None
    return manifest


def _sibling(folder: StoragePath, run: str) -> StoragePath | None:
    parent = getattr(folder, "parent", None)
    return None if parent is None or "/" in run else parent.joinpath(run)


def _named(name: str) -> str:
    """Name a file, and the step whose evidence it is."""
    file = StepFile.of(name)
    return name if file is None else f"{name} (step {file.step}, attempt {file.attempt})"

"""What the check of a sealed run says, for a person and for a program."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from kafka_dr import quoting
from kafka_dr.evidence.sealed_run_check import SealedRunCheck, SealVerdict

_HEADINGS = {
    "sound": "SOUND: every file is what was sealed, the trusted key signed it, and no earlier seal is missing",
    "changed": "CHANGED: this is not what was sealed",
    "unproven": "NOT PROVEN: nothing speaks against it, but something could not be proven",
}


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of ``verify``.

    :param found: what the check found
    """

    found: SealedRunCheck

    @property
    def verdict(self) -> SealVerdict:
        """What was found means."""
        return self.found.verdict

    def as_json(self) -> str:
        """Return one JSON object with everything that was found."""
        return json.dumps({"verdict": self.found.verdict, **asdict(self.found)}, indent=1)

    def in_words(self) -> str:
        """Return the verdict and a line for each thing that led to it."""
        return "\n".join(quoting.line(text) for text in self._lines())

    def _lines(self) -> Iterator[str]:
        found = self.found
        yield f"run {found.run} of {found.group or 'an unknown group'}"
        yield _HEADINGS[found.verdict]
        if found.expired:
            yield f"  expired: {found.expired}; what its seals are checked with is kept"
        yield from (f"  changed: {said}" for said in found.changed)
        yield from (f"  not proven: {said}" for said in found.unproven)
        yield f"seals of this run: {found.seals}; runs before it that were found: {len(found.chain)}"
        yield f"signed by the key {found.signer}" if found.signer else "not signed"

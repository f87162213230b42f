"""Files that are written once: one that exists is compared, shown, and never changed."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kafka_dr.causes import cause
from kafka_dr.errors import Refused
from kafka_dr.set_up.files import SetUpFile

#: What a person fills in: compared without it, and never shown.
_SECRET = re.compile(r'((?:password|private_key)\\*"?[:=] ?)(?:\\*"(?:[^"\\\n]|\\.)*"|[^"\s][^\n]*)?')
Fate = Literal["written", "same", "differs"]


@dataclass(frozen=True, slots=True)
class KeptFile:
    """What became of a file.

    :param difference: how the proposal differs from what is there, as a unified diff; nothing of a private file
    """

    name: str
    fate: Fate
    difference: str = ""


def write_missing(folder: Path, files: Iterable[SetUpFile]) -> tuple[KeptFile, ...]:
    """Write the files that are not there; compare the others.

    :raises Refused: a file cannot be read or written
    """
    return tuple(_kept(folder, each) for each in files)


def _kept(folder: Path, file: SetUpFile) -> KeptFile:
    path = folder / file.name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600 if file.private else 0o644)
        with os.fdopen(handle, "w", encoding="utf-8") as written:
            written.write(file.text)
        return KeptFile(file.name, "written")
    except FileExistsError:
        return _compared(path, file)
    except OSError as error:
        raise Refused(f"{path} cannot be written: {cause(error)}") from error


def _compared(path: Path, file: SetUpFile) -> KeptFile:
    try:
        present = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{path} cannot be read: {cause(error)}") from error
    if present == file.text or (file.private and _SECRET.sub(r"\1", present) == _SECRET.sub(r"\1", file.text)):
        return KeptFile(file.name, "same")
    if file.private:
        return KeptFile(file.name, "differs")
    rows = difflib.unified_diff(
        present.splitlines(),
        file.text.splitlines(),
        f"{file.name} (yours)",
        f"{file.name} (proposed)",
        lineterm="",
        n=2,
    )
    return KeptFile(file.name, "differs", "\n".join(rows))

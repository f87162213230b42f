"""Damage to the files of a list of stranded records, as a disk or a person does it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_dr.audit.stranded import StrandedList

Rows = list[dict[str, Any]]


def zero_the_pages(path: Path) -> None:
    """Overwrite every byte of the records, and leave the footer, which says how many there are."""
    content = path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    path.write_bytes(content[:4] + bytes(footer - 4) + content[footer:])


def copied(found: StrandedList, folder: Path, to: Path, change: Callable[[Rows], Rows]) -> Path:
    """Copy the files of a list, the rows of its first file changed; each stays a file that can be read."""
    for number, file in enumerate(found.files):
        target = to / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / file.path, target)
        if number == 0:
            table = pq.read_table(target, partitioning=None)
            pq.write_table(pa.Table.from_pylist(change(table.to_pylist()), table.schema), target)
    return to

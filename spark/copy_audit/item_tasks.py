"""What a task does with the rows of one work item; it runs where Spark's executors are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from copy_audit.fingerprints import Fingerprints, Longs
from copy_audit.work_items import ItemRow, aligned_rows

#: What a task is given, in Spark's words. All rows are of one item.
GIVEN = "item int, on_target boolean, offset long, timestamp long, hash long"
#: What it returns: three numbers, and what they say (:class:`~copy_audit.work_items.ItemRow`).
RETURNED = "item int, kind string, first long, second long, third long"
_RETURNED = pa.schema(
    [("item", pa.int32()), ("kind", pa.string()), *((name, pa.int64()) for name in ("first", "second", "third"))]
)
_AT_ONCE = 1 << 16


def align_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Align an item, whose rows may come in any order."""
    parts: tuple[list[Fingerprints], list[Fingerprints]] = ([], [])
    item = None
    for batch in batches:
        numbers, on_target, *columns = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
        item = int(numbers[0])
        for end in (False, True):
            rows = on_target == end
            if rows.any():
                parts[end].append(Fingerprints(*(column[rows] for column in columns)).rising())
    if item is None:
        return
    source, target = map(Fingerprints.joined, parts)
    parts = ([], [])
    for kind, found in aligned_rows(source, target):
        for start in range(0, len(found), _AT_ONCE):
            yield _batch(item, kind, found[start : start + _AT_ONCE])


def _batch(item: int, kind: ItemRow, rows: Longs) -> pa.RecordBatch:
    count = len(rows)
    columns = [pa.array(np.full(count, item, np.int32)), pa.repeat(str(kind), count)]
    return pa.RecordBatch.from_arrays(
        [*columns, *(pa.array(np.ascontiguousarray(each)) for each in rows.T)], schema=_RETURNED
    )

"""What a switch reads of the evidence is read before its claim: afterwards nobody changes what the run relies on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_dr.audit.kept_frontier import FileFrontierStore, FrontierPoint, KeptFrontier
from kafka_dr.errors import NeedsPerson
from kafka_dr.offsets.syncs.files import SyncArchive
from kafka_dr.offsets.translate.anchor_cache import AnchorCache, CachedPairs
from kafka_dr.positions import OffsetPair
from kafka_dr.runs import inputs
from kafka_dr.runs.inputs import InputFile, Inputs, folders_of, read_inputs, with_inputs
from kafka_dr.storage.deadline_path import DeadlinePath
from support.failing_storage import FailingStorage

FORWARD = "east-to-west"
FOLDERS = folders_of("orders", ("east", "west"))


def frontier(offset: int) -> KeptFrontier:
    return KeptFrontier(
        ("e", "w", 3), {"orders.payments": ("1", "2")}, {("orders.payments", 0): FrontierPoint(offset, 7)}
    )


@pytest.fixture
def storage() -> FailingStorage:
    return FailingStorage()


@pytest.fixture
def root(tmp_path: Path, storage: FailingStorage) -> DeadlinePath:
    found = DeadlinePath(tmp_path / "evidence", storage)
    FileFrontierStore(found, "orders").write(FORWARD, frontier(100))
    AnchorCache(found, "orders").write(FORWARD, CachedPairs({"t": ("1", "2")}, {("t", 0): (OffsetPair(1, 2),)}))
    folder = found.joinpath("audits", "orders", "checksum", FORWARD, "map")
    folder.mkdir(parents=True, exist_ok=True)
    with folder.joinpath("part.jsonl").open("wb") as file:
        file.write(b"runs")
    archive = found.joinpath("offset_syncs", FORWARD, "topic-id")
    archive.mkdir(parents=True, exist_ok=True)
    with archive.joinpath(f"{0:019d}-{5:019d}.{'0' * 16}.parquet").open("wb") as file:
        file.write(b"damaged")
    return found


def claimed(root: DeadlinePath, tmp_path: Path) -> DeadlinePath:
    """Return the root as a step after the claim sees it: what was journaled went through JSON."""
    fact = json.loads(json.dumps(read_inputs(root, FOLDERS, copy=tmp_path / "copy").to_json()))
    return with_inputs(root, fact, copy=tmp_path / "copy")


def test_every_file_is_as_it_was_before_the_claim_while_the_storage_hangs(
    root: DeadlinePath, storage: FailingStorage, tmp_path: Path
) -> None:
    seen = claimed(root, tmp_path)
    storage.state = "hangs"
    assert FileFrontierStore(seen, "orders").read(FORWARD) == frontier(100)
    assert FileFrontierStore(seen, "orders").read("west-to-east") is None
    assert AnchorCache(seen, "orders").read(FORWARD).offsets == {("t", 0): (OffsetPair(1, 2),)}
    assert [each.name for each in seen.joinpath("audits", "orders", "checksum", FORWARD, "map").iterdir()] == [
        "part.jsonl"
    ]
    syncs = SyncArchive(seen, source="east", target="west", cluster_ids=("e", "w")).read(["t"])
    assert "it is not what was written" in syncs.problems[0]


def test_what_somebody_writes_after_the_claim_is_not_read(root: DeadlinePath, tmp_path: Path) -> None:
    seen = claimed(root, tmp_path)
    FileFrontierStore(root, "orders").write(FORWARD, frontier(9_999))
    FileFrontierStore(root, "orders").write("west-to-east", frontier(9_999))
    assert FileFrontierStore(seen, "orders").read(FORWARD) == frontier(100)
    assert FileFrontierStore(seen, "orders").read("west-to-east") is None


@pytest.mark.parametrize("state", ["works", "hangs", "is full"])
def test_what_a_step_writes_is_read_by_that_step_and_stored_if_the_storage_takes_it(
    root: DeadlinePath, storage: FailingStorage, tmp_path: Path, state: str
) -> None:
    seen = claimed(root, tmp_path)
    storage.state = state  # type: ignore[assignment]
    FileFrontierStore(seen, "orders").write(FORWARD, frontier(200))
    assert FileFrontierStore(seen, "orders").read(FORWARD) == frontier(200)
    storage.state = "works"
    assert FileFrontierStore(root, "orders").read(FORWARD) == frontier(200 if state == "works" else 100)


def test_what_is_not_an_input_is_read_from_the_storage(root: DeadlinePath, tmp_path: Path) -> None:
    seen = claimed(root, tmp_path)
    root.joinpath("runs").mkdir(parents=True, exist_ok=True)
    with seen.joinpath("runs", "new").open("wb") as file:
        file.write(b"1")
    assert seen.joinpath("runs", "new").read_bytes() == root.joinpath("runs", "new").read_bytes() == b"1"


def test_what_is_too_large_for_the_journal_is_copied_here_and_compared_wherever_it_is_read(
    root: DeadlinePath, storage: FailingStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "_MOST_JOURNALED", 10)
    seen = claimed(root, tmp_path)
    storage.state = "hangs"
    assert FileFrontierStore(seen, "orders").read(FORWARD) == frontier(100)
    copied = tmp_path / "copy" / "audits" / "orders" / f"frontier-{FORWARD}.json"
    assert copied.stat().st_mode & 0o777 == 0o600
    copied.write_bytes(b"forged")
    storage.state = "works"
    assert FileFrontierStore(seen, "orders").read(FORWARD) == frontier(100)
    FileFrontierStore(root, "orders").write(FORWARD, frontier(9_999))
    with pytest.raises(NeedsPerson, match=r"holds another audits/orders/frontier-east-to-west\.json than the one"):
        FileFrontierStore(seen, "orders").read(FORWARD)


def test_a_journal_that_contradicts_itself_is_not_believed() -> None:
    fact = Inputs(("a",), (InputFile("a/b", "0" * 64, 1),), {"a/b": b"1"}).to_json()
    with pytest.raises(NeedsPerson, match="the journal holds another a/b"):
        Inputs.of_fact(fact)

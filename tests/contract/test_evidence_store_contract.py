"""What holds for the evidence store on every kind of path that it is given."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from kafka_dr.evidence.canonical import NotCanonical
from kafka_dr.evidence.known_secrets import SecretInEvidence
from kafka_dr.evidence.seal import EvidenceChanged, Seal
from kafka_dr.evidence.step_files import UnusableName
from kafka_dr.evidence.storage_path import StoragePath
from kafka_dr.evidence.store import EvidenceStore, EvidenceUnfinished, EvidenceUnwritable
from support.manual_clock import ManualClock

RUN = "manual__2026-11-20T03:00:00.123456+00:00"
CLOCK = ManualClock(datetime(2026, 11, 20, 3, tzinfo=UTC))


@pytest.fixture(params=["pathlib", "airflow"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> StoragePath:
    if request.param == "pathlib":
        return tmp_path / "evidence"
    from airflow.sdk import ObjectStoragePath

    place: StoragePath = ObjectStoragePath(f"file://{tmp_path}/evidence")
    return place


@pytest.fixture
def store(root: StoragePath) -> EvidenceStore:
    return EvidenceStore(root, CLOCK)


@pytest.fixture
def folder(store: EvidenceStore, tmp_path: Path) -> Path:
    """The folder of the run's files on this machine."""
    return tmp_path / "evidence" / "runs" / "orders" / RUN


@pytest.fixture
def sealed(store: EvidenceStore) -> Seal:
    store.write("orders", RUN, 1, "preflight", {"outcome": "ok"})
    store.write("orders", RUN, 2, "approval", {"outcome": "ok"})
    return store.seal("orders", RUN)


def test_a_step_is_written_to_a_file_of_its_own_and_bound_by_its_digest(store: EvidenceStore, folder: Path) -> None:
    ref = store.write("orders", RUN, 4, "fence_source", {"outcome": "ok", "facts": {"b": 1, "a": 2}})

    data = (folder / "04-fence_source.1.json").read_bytes()
    assert ref.path == f"runs/orders/{RUN}/04-fence_source.1.json"
    assert ref.sha256 == sha256(data).hexdigest()
    assert json.loads(data) == {"attempt": 1, "outcome": "ok", "facts": {"a": 2, "b": 1}}


def test_nothing_is_ever_overwritten(store: EvidenceStore, folder: Path) -> None:
    first = store.write("orders", RUN, 4, "fence_source", {"outcome": "failed"})
    before = (folder / "04-fence_source.1.json").read_bytes()
    second = store.write("orders", RUN, 4, "fence_source", {"outcome": "ok"})

    assert (first.attempt, second.attempt) == (1, 2)
    assert (folder / "04-fence_source.1.json").read_bytes() == before
    assert json.loads((folder / "04-fence_source.2.json").read_bytes())["attempt"] == 2


def test_an_attempt_that_the_caller_counts_is_kept(store: EvidenceStore, folder: Path) -> None:
    store.write("orders", RUN, 4, "fence_source", {"attempt": 7})

    assert json.loads((folder / "04-fence_source.1.json").read_bytes())["attempt"] == 7


def test_the_newest_attempt_of_a_step_is_read_back_by_number_and_not_by_name(store: EvidenceStore) -> None:
    for count in range(1, 12):
        store.write("orders", RUN, 4, "drain", {"count": count})
    store.write("orders", RUN, 5, "drain_more", {"count": 99})

    newest = store.newest("orders", RUN, "drain")

    assert newest == {"attempt": 11, "count": 11}
    assert store.newest("orders", RUN, "verify") is None
    assert store.newest("orders", "another-run", "drain") is None


@pytest.mark.parametrize("left", ["", '{"outcome": "done"', "[]"])
def test_an_attempt_that_was_cut_off_is_not_replaced_by_an_older_one(
    store: EvidenceStore, folder: Path, left: str
) -> None:
    store.write("orders", RUN, 2, "approval", {"approved": True})
    (folder / "02-approval.2.json").write_text(left)

    with pytest.raises(EvidenceUnfinished, match=r"02-approval\.2\.json .* Run approval again"):
        store.newest("orders", RUN, "approval")


def test_writers_at_the_same_time_each_get_their_own_attempt(store: EvidenceStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        refs = list(pool.map(lambda n: store.write("orders", RUN, 1, "preflight", {"n": n}), range(20)))

    assert sorted(ref.attempt for ref in refs) == list(range(1, 21))


@pytest.mark.parametrize(
    ("payload", "error"),
    [({"facts": {"password": "x"}}, SecretInEvidence), ({"facts": {"lag": float("nan")}}, NotCanonical)],
)
def test_nothing_of_a_refused_payload_is_stored(
    store: EvidenceStore, folder: Path, payload: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        store.write("orders", RUN, 1, "preflight", payload)

    assert not folder.exists()


@pytest.mark.parametrize(
    ("group", "run", "step"), [("../x", RUN, "s"), ("g", "a/b", "s"), ("g", RUN, "."), ("", RUN, "s")]
)
def test_a_name_never_leads_out_of_the_folder(store: EvidenceStore, group: str, run: str, step: str) -> None:
    with pytest.raises(UnusableName, match="cannot name a file"):
        store.write(group, run, 1, step, {})


def test_a_folder_that_cannot_be_written_is_named_in_a_sentence(store: EvidenceStore, tmp_path: Path) -> None:
    (tmp_path / "evidence").write_text("in the way")

    with pytest.raises(EvidenceUnwritable, match=r"name another evidence\.root in the topology"):
        store.write("orders", RUN, 1, "preflight", {})


def test_a_seal_covers_every_file_and_is_found_again(store: EvidenceStore, sealed: Seal, folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_bytes())

    assert [file["name"] for file in manifest["files"]] == ["01-preflight.1.json", "02-approval.1.json", "report.html"]
    assert all(file["sha256"] == sha256((folder / file["name"]).read_bytes()).hexdigest() for file in manifest["files"])
    assert manifest["digest"] == sealed.digest
    assert store.newest_seal("orders", RUN) == sealed
    assert store.verify(sealed).intact
    assert str(store.verify(sealed)) == "every file is unchanged."


def test_a_run_that_was_never_sealed_has_no_seal(store: EvidenceStore) -> None:
    assert store.newest_seal("orders", RUN) is None


def test_sealing_again_without_news_changes_nothing(store: EvidenceStore, sealed: Seal, folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    assert store.seal("orders", RUN) == sealed
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_run_that_continued_is_sealed_again_over_everything_before(
    store: EvidenceStore, sealed: Seal, folder: Path
) -> None:
    store.write("orders", RUN, 12, "report", {"outcome": "ok"})
    assert store.verify(sealed).added == ("12-report.1.json",)

    again = store.seal("orders", RUN)

    assert (again.page, again.manifest) == ("report.2.html", "manifest.2.json")
    assert store.newest_seal("orders", RUN) == again
    names = [file["name"] for file in json.loads((folder / "manifest.2.json").read_bytes())["files"]]
    assert {"manifest.json", "report.html", "12-report.1.json"} <= set(names)
    assert store.verify(again).intact


def test_every_file_that_differs_is_named(store: EvidenceStore, sealed: Seal, folder: Path) -> None:
    (folder / "01-preflight.1.json").write_text("{}")
    (folder / "02-approval.1.json").unlink()
    (folder / "99-extra.1.json").write_text("{}")

    verification = store.verify(sealed)

    assert not verification.intact
    assert str(verification) == ("changed: 01-preflight.1.json; missing: 02-approval.1.json; added: 99-extra.1.json.")


def test_evidence_that_was_changed_is_never_sealed_again(store: EvidenceStore, sealed: Seal, folder: Path) -> None:
    (folder / "01-preflight.1.json").write_text("{}")

    with pytest.raises(EvidenceChanged, match=r"changed: 01-preflight\.1\.json"):
        store.seal("orders", RUN)


def test_a_manifest_that_was_rewritten_is_found_by_the_digest_kept_elsewhere(
    store: EvidenceStore, sealed: Seal, folder: Path
) -> None:
    (folder / "01-preflight.1.json").write_text("{}")
    for name in ("manifest.json", "report.html", "SHA256SUMS"):
        (folder / name).unlink()
    forged = store.seal("orders", RUN)

    assert forged.digest != sealed.digest
    assert store.verify(sealed).changed == ("manifest.json",)


@pytest.mark.parametrize("damage", ["[]", "{}", '{"schema_version": 1}'])
def test_a_damaged_manifest_proves_nothing(store: EvidenceStore, sealed: Seal, folder: Path, damage: str) -> None:
    (folder / "manifest.json").write_text(damage)

    assert store.verify(sealed).changed == ("manifest.json",)
    with pytest.raises(EvidenceChanged, match="proves nothing until it is restored"):
        store.newest_seal("orders", RUN)


def test_a_manifest_whose_content_was_edited_does_not_match_its_own_digest(
    store: EvidenceStore, sealed: Seal, folder: Path
) -> None:
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(text.replace("2026-11-20T03", "2026-11-20T04"))

    with pytest.raises(EvidenceChanged, match="its digest is not that of its content"):
        store.newest_seal("orders", RUN)


def test_a_missing_manifest_is_named(store: EvidenceStore, sealed: Seal, folder: Path) -> None:
    (folder / "manifest.json").unlink()

    assert store.verify(sealed).missing == ("manifest.json",)


@pytest.mark.parametrize("left", [None, "", '{"digest": "4'])
def test_a_seal_that_was_cut_off_is_made_again_under_the_next_number(
    store: EvidenceStore, sealed: Seal, folder: Path, left: str | None
) -> None:
    (folder / "manifest.json").unlink()
    if left is not None:
        (folder / "manifest.json").write_text(left)
    assert store.newest_seal("orders", RUN) is None

    again = store.seal("orders", RUN)

    assert again.manifest == "manifest.2.json"
    assert store.newest_seal("orders", RUN) == again
    assert store.verify(again).intact


def test_the_page_of_a_run_that_continues_shows_what_is_kept_so_far(store: EvidenceStore) -> None:
    assert store.page("orders", RUN) is None
    store.write("orders", RUN, 1, "preflight", {"outcome": "done"})
    page = store.page("orders", RUN)
    assert page is not None
    assert "preflight" in page
    assert "Not sealed" in page


def test_the_page_of_a_sealed_run_is_the_sealed_one(store: EvidenceStore, sealed: Seal, folder: Path) -> None:
    assert store.page("orders", RUN) == (folder / sealed.page).read_text(encoding="utf-8")
    store.write("orders", RUN, 3, "claim", {"outcome": "done"})
    later = store.page("orders", RUN)
    assert later is not None
    assert "claim" in later
    assert "Not sealed" in later


def test_a_run_whose_sealed_evidence_was_changed_has_no_page(store: EvidenceStore, sealed: Seal, folder: Path) -> None:
    (folder / "01-preflight.1.json").write_text("{}", encoding="utf-8")
    with pytest.raises(EvidenceChanged, match=r"01-preflight\.1\.json"):
        store.page("orders", RUN)

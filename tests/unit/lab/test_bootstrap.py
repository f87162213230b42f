from __future__ import annotations

import ast
from pathlib import Path

import pytest

from lab import bootstrap
from lab.errors import LabError

LAB = Path(bootstrap.__file__).parent
OLD = (3, 7)  # an older one does not know `from __future__ import annotations`


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13), (3, 14)])
def test_a_python_with_wheels_for_every_pin_is_accepted(version: tuple[int, int]) -> None:
    bootstrap.check_python(version)


@pytest.mark.parametrize("version", [(3, 8), (3, 10), (3, 15), (4, 0)])
def test_another_python_is_refused_with_both_bounds(version: tuple[int, int]) -> None:
    with pytest.raises(LabError, match=rf"this is Python {version[0]}\.{version[1]}, .* Python 3\.11 to 3\.14"):
        bootstrap.check_python(version)


def test_a_python_that_is_too_old_can_read_what_refuses_it() -> None:
    read, left = set[str](), ["__init__", "__main__"]
    while left:
        name = left.pop()
        read.add(name)
        tree = ast.parse((LAB / f"{name}.py").read_text("utf-8"), feature_version=OLD)
        left += _imported_on_reading(tree) - read
    assert {"__main__", "bootstrap", "errors"} <= read


def _imported_on_reading(tree: ast.Module) -> set[str]:
    """The lab's own modules that are read before anything in this one is called."""
    named = [line.module or "" for line in tree.body if isinstance(line, ast.ImportFrom)]
    return {name.removeprefix("lab.") for name in named if name.startswith("lab.")}


def test_the_cache_is_chosen_by_setting() -> None:
    assert bootstrap.cache_folder({"KAFKA_DR_CACHE": "/var/cache/x"}) == Path("/var/cache/x")
    assert bootstrap.cache_folder({}) == Path.home() / ".cache" / "kafka-dr"


def test_other_pins_mean_another_environment_and_other_comments_do_not(tmp_path: Path) -> None:
    folder = bootstrap.environment_folder(tmp_path, "a==1  # why\n")
    assert folder != bootstrap.environment_folder(tmp_path, "a==2  # why\n")
    assert folder == bootstrap.environment_folder(tmp_path, "# new text\n\na==1\n")


def test_an_environment_without_its_stamp_does_not_count_and_one_with_it_costs_nothing(tmp_path: Path) -> None:
    both = bootstrap.INSTALLERS.read_text() + bootstrap.REQUIREMENTS.read_text()
    folder = bootstrap.environment_folder(tmp_path, both)
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "half").touch()
    broken = {"PATH": "/usr/bin:/bin", "PIP_NO_INDEX": "1"}

    with pytest.raises(LabError, match=r"installing the packages of requirements-lab\.txt failed"):
        bootstrap.ensure_environment(tmp_path, broken)
    assert not folder.exists()

    folder.mkdir()
    (folder / bootstrap.STAMP).touch()
    assert bootstrap.ensure_environment(tmp_path, broken) == folder


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LabError, match=r"cannot be written .*KAFKA_DR_CACHE"):
        bootstrap.ensure_environment(tmp_path / "file" / "cache", {})


def test_a_full_disk_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"GiB free and .* GiB are needed"):
        bootstrap.check_space(tmp_path, 1 << 60)


def test_the_machines_settings_of_pip_are_passed_to_uv() -> None:
    told = bootstrap.installer_settings(
        {
            "PIP_INDEX_URL": "https://mirror/simple",
            "PIP_EXTRA_INDEX_URL": "https://other/simple",
            "PIP_FIND_LINKS": "/wheels /more",
            "PIP_CERT": "/ca.pem",
        }
    )
    assert told["UV_DEFAULT_INDEX"] == "https://mirror/simple"
    assert told["UV_INDEX"] == "https://other/simple"
    assert told["UV_FIND_LINKS"] == "/wheels,/more"
    assert told["SSL_CERT_FILE"] == "/ca.pem"


def test_what_the_machine_configures_for_uv_itself_is_kept() -> None:
    told = bootstrap.installer_settings({"PIP_INDEX_URL": "https://a/simple", "UV_DEFAULT_INDEX": "https://b/simple"})
    assert told["UV_DEFAULT_INDEX"] == "https://b/simple"


def test_without_ensurepip_the_message_names_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "ensurepip" else object())
    with pytest.raises(LabError, match=r"no `ensurepip`.*apt install python3\.\d+-venv"):
        bootstrap.ensure_environment(tmp_path, {})
    assert list(tmp_path.iterdir()) == []

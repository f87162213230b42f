"""The script of the guide that commits a file of rules, with real Git: what others push meanwhile stays."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from kafka_dr.access_rules.rules_file import RulesFile
from kafka_dr.clock import SystemClock
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.errors import TryAgain

GUIDE = Path(__file__).resolve().parents[3] / "include" / "guide" / "access-rules-kept-elsewhere.md"
DENY = Acl(ResourceType.TOPIC, "orders.", PatternType.PREFIXED, "User:app", AclOperation.WRITE, AclPermission.DENY)
NAMES = {f"GIT_{who}_{what}": f"{what}@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(folder: Path, *arguments: str) -> str:
    environ: Mapping[str, str] = {**os.environ, **NAMES, "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(
        ["git", *arguments],  # noqa: S607
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture
def clones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Return the working tree of this project and one of a person, of the same repository."""
    for name, value in {**NAMES, "GIT_CONFIG_GLOBAL": os.devnull}.items():
        monkeypatch.setenv(name, value)
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", "owners.git")
    for name in ("ours", "theirs"):
        git(tmp_path, "clone", "--quiet", "owners.git", name)
        git(tmp_path / name, "symbolic-ref", "HEAD", "refs/heads/main")
    (tmp_path / "theirs" / "topics.yaml").write_text("orders.payments: 12\n")
    git(tmp_path / "theirs", "add", ".")
    git(tmp_path / "theirs", "commit", "--quiet", "-m", "the topics")
    git(tmp_path / "theirs", "push", "--quiet", "--set-upstream", "origin", "main")
    git(tmp_path / "ours", "pull", "--quiet", "origin", "main")
    git(tmp_path / "ours", "branch", "--quiet", "--set-upstream-to=origin/main")
    return tmp_path / "ours", tmp_path / "theirs"


@pytest.fixture
def file(clones: tuple[Path, Path], tmp_path: Path) -> RulesFile:
    script = re.search(r"<!-- hook -->\n```sh\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    assert script
    hook = tmp_path / "apply-kafka-access"
    hook.write_text(script[1])
    hook.chmod(0o700)
    return RulesFile(clones[0] / "east.json", "east", "orders", SystemClock(), (str(hook),))


def test_each_change_is_committed_and_pushed_and_once_more_is_no_error(
    file: RulesFile, clones: tuple[Path, Path]
) -> None:
    _, theirs = clones
    file.change(adding=frozenset({DENY}), removing=frozenset(), before_each=lambda: 4)
    file.apply(seconds=20)
    (theirs / "topics.yaml").write_text("orders.payments: 24\n")
    git(theirs, "commit", "--quiet", "-am", "more partitions")
    git(theirs, "pull", "--quiet", "--rebase")
    git(theirs, "push", "--quiet")
    file.apply(seconds=20)
    git(theirs, "pull", "--quiet")

    assert json.loads((theirs / "east.json").read_text())["groups"]["orders"]["epoch"] == 4
    assert (clones[0] / "topics.yaml").read_text() == "orders.payments: 24\n"
    assert git(theirs, "log", "--format=%s").splitlines() == [
        "more partitions",
        "DENYs of orders on east",
        "the topics",
    ]
    assert file.read() == {DENY}


def test_a_person_who_pushed_another_content_of_the_file_is_named_and_the_tree_is_left_usable(
    file: RulesFile, clones: tuple[Path, Path]
) -> None:
    ours, theirs = clones
    (theirs / "east.json").write_text("{}\n")
    git(theirs, "add", ".")
    git(theirs, "commit", "--quiet", "-m", "by hand")
    git(theirs, "push", "--quiet")
    file.change(adding=frozenset({DENY}), removing=frozenset(), before_each=lambda: 4)
    with pytest.raises(TryAgain, match="ended with code 1 and did not apply"):
        file.apply(seconds=20)
    assert "rebase" not in git(ours, "status")
    assert file.read() == {DENY}

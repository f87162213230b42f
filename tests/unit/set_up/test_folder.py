"""A file is written once; a private one is compared without its secrets, and never shown."""

from __future__ import annotations

import json
import shlex
import stat
from pathlib import Path

import pytest

from kafka_dr.errors import Refused
from kafka_dr.set_up.files import SetUpFile
from kafka_dr.set_up.folder import KeptFile, write_missing

_EMPTY = {"sasl.password": "", "x": "y"}
_EXTRA = {"a": {"password": "", "extra": json.dumps({"private_key": "", "host": "h"})}}


@pytest.mark.parametrize(
    ("empty", "filled"),
    [
        (json.dumps(_EMPTY, indent=1), json.dumps({**_EMPTY, "sasl.password": 'p"w\\d'}, indent=1)),
        (
            f"A={shlex.quote(json.dumps(_EMPTY))}\n",
            f"A={shlex.quote(json.dumps({**_EMPTY, 'sasl.password': 'hush'}))}\n",
        ),
        (json.dumps(_EXTRA), json.dumps(_EXTRA).replace('password": ""', 'password": "hush"')),
        (
            'o.sasl.jaas.config=x required username="u" password="";\n',
            'o.sasl.jaas.config=x required username="u" password="hush";\n',
        ),
        ("o.ssl.key.password=\n", "o.ssl.key.password=hush\n"),
    ],
)
def test_a_secret_that_was_filled_in_is_no_difference_and_is_never_shown(
    tmp_path: Path, empty: str, filled: str
) -> None:
    file = SetUpFile("below/private", empty, private=True)
    assert write_missing(tmp_path, [file]) == (KeptFile("below/private", "written"),)
    path = tmp_path / "below" / "private"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text(filled)
    assert write_missing(tmp_path, [file]) == (KeptFile("below/private", "same"),)
    path.write_text(f"{filled}more")
    assert write_missing(tmp_path, [file]) == (KeptFile("below/private", "differs"),)
    assert path.read_text() == f"{filled}more"


def test_a_file_that_cannot_be_written_or_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(Refused, match="taken/file cannot be read: a part of the path is not a folder"):
        write_missing(tmp_path, [SetUpFile("taken/file", "x")])
    (tmp_path / "folder").mkdir()
    with pytest.raises(Refused, match="folder cannot be read: it is a folder"):
        write_missing(tmp_path, [SetUpFile("folder", "x")])

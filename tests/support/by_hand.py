"""A way out by hand, done as a person would: what is printed, exactly as it is printed."""

from __future__ import annotations

from pathlib import Path

from lab.credentials import passwords_of
from support.command_line import CommandLine
from support.kafka_tools import run_as_printed
from support.protection import Protection


def done_by_hand(protection: Protection, folder: Path, tools: Path, procedure: str) -> str:
    """Do what is printed for the group in its state, and return what the tools said.

    :param folder: for the files; made
    :param procedure: the name of a way out, or its title, where several have the name
    """
    line, wanted = CommandLine(protection), ("status", "--group", protection.name, "--by-hand")
    said = line.run(*wanted, "--json")
    assert (said.code, said.json["not_known"]) == (0, []), said.err
    titles = {each["title"] for each in said.json["procedures"] if procedure in (each["name"], each["title"])}
    (title,) = titles
    on_paper = line.run(*wanted).out
    assert "PASSWORD" in on_paper
    for secret in passwords_of(protection.lab.home).values():
        assert secret not in on_paper
    printed = line.run(*wanted, "--files", str(folder))
    assert printed.code == 0, printed.err
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    _, *sections = printed.out.split("# ===== ")
    (section,) = (each for each in sections if each.startswith(title))
    return run_as_printed(f"# {section}", tools, folder)

"""The steps of a run, as a person and as a program read them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import typer
from rich.console import Console

from kafka_dr.command_line.exit_codes import ExitCode
from kafka_dr.command_line.status_page import plain
from kafka_dr.runs.record import StepOutcome, StepRecord

_CODES: dict[StepOutcome, ExitCode] = {
    "refused": ExitCode.REFUSED,
    "failed": ExitCode.BAD,
    "unknown": ExitCode.UNKNOWN,
    "unproven": ExitCode.UNKNOWN,
}


@dataclass(slots=True)
class StepPage:
    """Shows each step when it has ended. A program gets one JSON object at the end; people can follow on stderr.

    :param run: the id of the run
    """

    group: str
    run: str
    as_json: bool
    steps: list[StepRecord] = field(default_factory=list)

    @property
    def console(self) -> Console:
        """Where people read."""
        return Console(stderr=self.as_json)

    def show(self, record: StepRecord) -> None:
        """Show a step that has ended."""
        self.steps.append(record)
        console = self.console
        for each in record.lines():
            console.print(plain(each.text, "" if each.good else "bold red"), soft_wrap=True)

    def say(self, sentence: str, style: str = "bold") -> None:
        """Say something about the run."""
        self.console.print(plain(sentence, style), soft_wrap=True)

    def end(self, sentence: str, code: ExitCode | None = None) -> typer.Exit:
        """Say how the run ended, and return what ends the command.

        :param code: how it ended; without it the last step says that
        """
        code = _code(self.steps) if code is None else code
        self.say(sentence, "bold green" if code is ExitCode.GOOD else "bold red")
        if self.as_json:
            typer.echo(json.dumps(self._json(sentence, code), indent=1, default=str))
        return typer.Exit(code)

    def _json(self, sentence: str, code: ExitCode) -> dict[str, Any]:
        steps = [{**record.payload(), "evidence": record.evidence} for record in self.steps]
        outcome = self.steps[-1].outcome if self.steps else "refused"
        head = {"group": self.group, "run": self.run, "outcome": outcome, "exit_code": int(code)}
        return {**head, "detail": sentence, "steps": steps}


def _code(steps: Sequence[StepRecord]) -> ExitCode:
    """Return the code of the last step; of a roll back that succeeded, that of the step before, which failed."""
    counted = [record for record in steps if record.step != "roll_back" or not record.good]
    return _CODES.get(counted[-1].outcome, ExitCode.GOOD) if counted else ExitCode.REFUSED

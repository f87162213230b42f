"""The approval in the terminal. It can be given on the page of the question as well; whichever comes first counts."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable
from typing import TextIO

from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape
from rich.panel import Panel

from lab.demo.airflow_rest import PendingApproval

LOOK_SECONDS = 0.5
APPROVE, REJECT = "Approve", "Reject"
_WORDS = {"y": APPROVE, "yes": APPROVE, "approve": APPROVE, "n": REJECT, "no": REJECT, "reject": REJECT}


def show(question: PendingApproval, console: Console, *, page: str) -> None:
    """Show what is asked, and where else it can be answered.

    :param page: the address of the page that takes the answer
    """
    console.print(Panel(Markdown(question.body), title=escape(question.subject), expand=False))
    people = " or ".join(question.approvers) or "each approver"
    console.print(escape(f"{people} can answer it on its page, too:"))
    console.print(escape(page), soft_wrap=True)  # an address that is broken into two lines leads nowhere


def ask(console: Console, *, answered_elsewhere: Callable[[], bool], stdin: TextIO = sys.stdin) -> str | None:
    """Ask until there is a clear answer.

    :param answered_elsewhere: asked twice a second while the terminal is silent
    :returns: the option, or ``None`` when somebody answered elsewhere
    """
    listening = stdin.isatty()
    if listening:
        console.print(f"[bold]{APPROVE} or {REJECT}?[/] [dim](y/n)[/] ", end="")
    else:
        console.print("This is not a terminal: answer on that page, or use --yes.")
    while not answered_elsewhere():
        if not select.select([stdin] if listening else [], [], [], LOOK_SECONDS)[0]:
            continue
        line = stdin.readline()
        option = _WORDS.get(line.strip().lower())
        if option is not None:
            return option
        listening = bool(line)  # at the end of input only the page is left
        console.print("[dim]y for Approve, n for Reject:[/] " if listening else "Answer on that page.", end="")
    return None

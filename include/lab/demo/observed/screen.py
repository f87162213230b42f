"""What a person sees at the end of the demo of an observed flow."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lab.demo.observed.judge import JudgedFault
from lab.demo.observed.rehearsal import ObservedOutcome

#: More partitions than these are counted, unless what was found is not what was put in.
_MOST_PLACES = 2


def show(outcome: ObservedOutcome, console: Console) -> None:
    """One table, and the result last."""
    console.print(f"\n{escape(outcome.sentence)}\n", soft_wrap=True)
    table = Table("fault", "put in", "found", "")
    for each in outcome.judged:
        mark = "[green]✓[/]" if each.equal else "[bold red]✗[/]"
        table.add_row(escape(each.fault), escape(_shown(each, each.put_in)), escape(_shown(each, each.found)), mark)
    console.print(table)
    for change in outcome.changed:
        console.print(f"[bold red]changed while it was observed:[/] {escape(change)}")
    console.print(f"[bold]{escape(closing(outcome))}[/]")


def closing(outcome: ObservedOutcome) -> str:
    """The last line."""
    wrong = [each.fault for each in outcome.judged if not each.equal]
    said = []
    if wrong:
        said.append(f"The report is wrong about: {', '.join(wrong)}.")
    if outcome.changed:
        said.append(f"{len(outcome.changed)} things changed on the clusters while somebody only looked.")
    if said:
        return " ".join(said)
    return (
        "Each fault was found, nothing else was claimed, and nothing was written: ends and settings of all topics, "
        "and all ACLs, are what they were before."
    )


def _shown(judged: JudgedFault, text: str) -> str:
    places = text.count(";") + 1
    if not judged.equal or places <= _MOST_PLACES:
        return text
    return f"{text.partition(' (')[0]} in {places} partitions"

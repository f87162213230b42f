"""What a person sees at the end of the demo of a stretch cluster."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lab.demo.stretch.placed import PREFIX
from lab.demo.stretch.rehearsal import StretchOutcome


def show(outcome: StretchOutcome, console: Console) -> None:
    """One table, and the result last."""
    table = Table("partition", "predicted", "happened", "leader", "stall", "acked", "lost", "")
    for each in outcome.judged:
        mark = "[green]✓[/]" if each.right else "[bold red]✗[/]"
        leader = "none" if each.leader is None else str(each.leader)
        if each.predicted_leader != each.leader:
            leader += f" (predicted {each.predicted_leader})"
        lost = str(each.lost) + (f", {each.doubled} doubled" if each.doubled else "")
        name, stall = f"{each.partition[0].removeprefix(PREFIX)}-{each.partition[1]}", f"{each.stall:.1f} s"
        cells = (name, each.predicted, each.happened, leader, stall, f"{each.acknowledged:,}", lost)
        table.add_row(*map(escape, cells), mark)
    console.print(table)
    for delay in outcome.delays:
        console.print(f"delay {escape(delay['pair'])}: {delay['typical']} ms (median of {delay['samples']})")
    for wrong in outcome.wrong:
        console.print(f"[bold red]wrong:[/] {escape(wrong)}")
    console.print(f"[bold]{escape(closing(outcome))}[/]")


def closing(outcome: StretchOutcome) -> str:
    """The last line."""
    if not outcome.good:
        return f"{len(outcome.wrong) + sum(not each.right for each in outcome.judged)} things were not as predicted."
    acknowledged = sum(each.acknowledged for each in outcome.judged)
    stall = max(each.stall for each in outcome.judged if each.happened == "continues")
    return (
        f"Every prediction was right. {acknowledged:,} records were acknowledged, and each of them is there once. "
        f"Partitions that continued acknowledged nothing for at most {stall:.1f} s."
    )

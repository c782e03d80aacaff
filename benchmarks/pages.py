"""A report as a rich table on the terminal and as an HTML page that needs nothing else."""

from __future__ import annotations

import base64
import html
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.results import Report
from benchmarks.tables import Table, machine_line, notes, summary, tables, worst

if TYPE_CHECKING:
    from rich.console import Console

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; color: #1c2733 }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #dde3e9 }
th:first-child, td:first-child { text-align: left }
th { border-bottom: 2px solid #8797a8 }
.loss td { background: #fdeeea } .wrong td:last-child { color: #b3261e; font-weight: bold }
img { max-width: 100% } p, li { color: #44525f }
"""


def show(report: Report, console: Console) -> None:
    """All tables on the terminal; what Weft loses is red."""
    from rich.table import Table as RichTable

    for table in tables(report):
        shown = RichTable(title=table.title, title_justify="left", header_style="bold")
        for i, name in enumerate(table.header):
            shown.add_column(name, justify="right" if i else "left", overflow="fold")
        for i, cells in enumerate(table.lines):
            shown.add_row(*cells, style=_style(table, i))
        console.print(shown)
    for note in notes(report):
        console.print(f"  {note}", style="dim", markup=False, highlight=False)
    console.print(machine_line(report), markup=False, highlight=False)
    console.print(summary(report), style="bold")
    for line in worst(report):
        console.print(f"  {line}", markup=False, highlight=False)


def _style(table: Table, line: int) -> str:
    if line in table.wrong:
        return "bold red"
    return "red" if line in table.losses else ""


def write_html(report: Report, path: Path, plots: list[Path]) -> None:
    """The same as one page, with plots inside."""
    parts = [f"<h1>Weft and its peers</h1><p>{html.escape(machine_line(report))}</p>"]
    parts.append(f"<p><b>{html.escape(summary(report))}</b></p>")
    parts += [_image(plot) for plot in plots]
    parts += [_html_table(table) for table in tables(report)]
    items = "".join(f"<li>{html.escape(note)}</li>" for note in notes(report))
    parts.append(f"<h2>Left out or failed</h2><ul>{items}</ul>" if items else "")
    head = f"<meta charset=utf-8><title>Weft: benchmarks</title><style>{STYLE}</style>"
    path.write_text(f"<!doctype html><html><head>{head}</head><body>{''.join(parts)}</body></html>")


def _html_table(table: Table) -> str:
    rows = ["<tr>" + "".join(f"<th>{html.escape(name)}</th>" for name in table.header) + "</tr>"]
    for i, cells in enumerate(table.lines):
        kinds = " ".join(["loss"] * (i in table.losses) + ["wrong"] * (i in table.wrong))
        inside = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        rows.append(f'<tr class="{kinds}">{inside}</tr>')
    return f"<h2>{html.escape(table.title)}</h2><table>{''.join(rows)}</table>"


def _image(path: Path) -> str:
    if path.suffix == ".svg":
        text = path.read_text()
        return text[text.index("<svg") :]
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<p><img src="data:image/png;base64,{data}" alt="{html.escape(path.stem)}"></p>'

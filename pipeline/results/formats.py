"""A table as Markdown, CSV, LaTeX (booktabs) and HTML: four renderings of the same cells."""

import html
import re
from collections.abc import Sequence
from pathlib import Path

from pipeline.files import atomic_open
from pipeline.results.table import Column, Row, Section, Table

LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "†": r"$^{\dagger}$",
    "‡": r"$^{\ddagger}$",
    "ₖ": r"$_k$",
    "≤": r"$\leq$",
    "α": r"$\alpha$",
    "–": "--",
    "\u00a0": "~",
}
UPRIGHT_COLUMNS = 9
DENSE_COLUMNS = 12  # of more, a table is set tighter, so that it fits a laptop's screen
SUPERSCRIPT_DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
TABLE_STYLE = """
.results{border-collapse:collapse;font:14px/1.45 system-ui,sans-serif;font-variant-numeric:
tabular-nums}
.title{font:600 16px/1.4 system-ui,sans-serif;margin:.4em 0}
.results th,.results td{padding:.25em .7em;text-align:right;vertical-align:top}
.results .left{text-align:left}
.results thead th{border-top:2px solid;border-bottom:1px solid;vertical-align:bottom}
.results tbody th{text-align:left;border-top:1px solid;font-style:italic;font-weight:400}
.results tbody tr.rule td{border-top:1px solid #999}
.results tbody:last-of-type tr:last-child td{border-bottom:2px solid}
.results tr.ours td{font-weight:600}
.results .below{display:block;font-size:.85em;font-weight:400;color:#444}
.dense{font-size:13px}
.results.dense th,.results.dense td{padding-left:.38em;padding-right:.38em}
.notes{font:13px/1.5 system-ui,sans-serif;padding-left:1.2em;max-width:60em;overflow-wrap:anywhere}
.wide{overflow-x:auto}
"""


def write_table(table: Table, prefix: str | Path) -> list[Path]:
    """Write `prefix`.md, .csv, .tex and .html; return the paths."""
    texts = {
        "md": to_markdown(table),
        "csv": table.frame.to_csv(index=False, lineterminator="\n"),
        "tex": to_latex(table),
        "html": to_page(table),
    }
    paths = []
    for suffix, text in texts.items():
        path = Path(f"{prefix}.{suffix}")
        with atomic_open(path) as stream:
            stream.write(text.encode("utf-8"))
        paths.append(path)
    return paths


def to_markdown(table: Table) -> str:
    """A pipe table a section, padded so that it also reads well in a terminal."""
    parts = [f"### {table.title}"]
    for section in table.sections:
        rows = [[_markdown(cell).replace("|", r"\|") for cell in row.cells] for row in section.rows]
        parts += [f"**{section.title}**"] if len(table.sections) > 1 else []
        parts.append(_pipes(table.columns, rows))
    parts.append("\n".join(f"- {_markdown(note)}" for note in table.notes))
    return "\n\n".join(parts) + "\n"


def _pipes(columns: tuple[Column, ...], rows: list[list[str]]) -> str:
    headings = [_markdown(column.heading) for column in columns]
    widths = [
        max(3, len(heading), *(len(row[i]) for row in rows)) for i, heading in enumerate(headings)
    ]

    def line(cells: list[str]) -> str:
        padded = (
            cell.ljust(width) if column.align == "left" else cell.rjust(width)
            for cell, width, column in zip(cells, widths, columns, strict=True)
        )
        return f"| {' | '.join(padded)} |"

    rule = [
        ":" + "-" * (width - 1) if column.align == "left" else "-" * (width - 1) + ":"
        for width, column in zip(widths, columns, strict=True)
    ]
    return "\n".join([line(headings), line(rule), *map(line, rows)])


def _markdown(text: str) -> str:
    """Escape what Markdown would take for markup; underscores within words and "< 5" are none."""
    return re.sub(r"([\\*`]|<(?=[A-Za-z/!?]))", r"\\\1", text)


def to_latex(table: Table) -> str:
    """A float for \\input: lying if it has many columns, scaled down if still too wide."""
    aligns = "".join("l" if column.align == "left" else "r" for column in table.columns)
    n_columns = len(table.columns)
    float_name = "sidewaystable" if n_columns > UPRIGHT_COLUMNS else "table"
    lines = [
        "% preamble: \\usepackage{booktabs,graphicx,rotating} \\usepackage[T1]{fontenc}",
        rf"\begin{{{float_name}}}[htbp]",
        r"\centering",
        rf"\caption{{{latex(table.title.split('. ', 1)[-1])}}}",
        rf"\label{{tab:{table.name}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{@{{}}{aligns}@{{}}}}",
        r"\toprule",
        " & ".join(_latex_heading(column) for column in table.columns) + r" \\",
    ]
    for section in table.sections:
        lines.append(r"\midrule")
        if len(table.sections) > 1:
            lines.append(
                rf"\multicolumn{{{n_columns}}}{{@{{}}l}}{{\textit{{{latex(section.title)}}}}} \\"
            )
        for row in section.rows:
            lines += [r"\addlinespace"] if row.rule_above else []
            lines.append(_latex_row(row))
    lines += [r"\bottomrule", r"\end{tabular}}", r"\par\medskip"]
    notes = r"\par ".join(latex(note) for note in table.notes)
    lines += [
        rf"\parbox{{\linewidth}}{{\footnotesize\raggedright {notes}}}",
        rf"\end{{{float_name}}}",
    ]
    return "\n".join(lines) + "\n"


def _latex_row(row: Row) -> str:
    cells = []
    for cell in row.cells:
        value, bracket, interval = cell.partition(" [")
        text = rf"\textbf{{{latex(value)}}}" if row.ours and value else latex(value)
        cells.append(text + (rf" {{\scriptsize [{latex(interval)}}}" if bracket else ""))
    return " & ".join(cells) + r" \\"


def _latex_heading(column: Column) -> str:
    """Headings of two parts, "paper, perplexity", stand on two lines."""
    lines = r"\\".join(latex(part) for part in column.heading.split(", "))
    return rf"\shortstack[{column.align[0]}]{{{lines}}}"


def latex(text: str) -> str:
    """Escape text for LaTeX; superscript digits and the signs we use become mathematics."""
    text = "".join(LATEX_SPECIAL.get(character, character) for character in text)
    return re.sub(
        f"[{SUPERSCRIPT_DIGITS}]+",
        lambda found: "$^{" + "".join(map(_plain_digit, found[0])) + "}$",
        text,
    )


def _plain_digit(character: str) -> str:
    return "0123456789-"[SUPERSCRIPT_DIGITS.index(character)]


def to_page(table: Table) -> str:
    """A small page of its own; the report takes what stands in its body."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(table.title)}</title><style>{TABLE_STYLE}</style></head>\n"
        f"<body>\n{to_html(table)}</body></html>\n"
    )


def to_html(table: Table) -> str:
    headings = _html_row(table, 'th scope="col"', [_html_heading(c) for c in table.columns])
    kind = "results dense" if len(table.columns) > DENSE_COLUMNS else "results"
    bodies = "".join(_html_section(table, section) for section in table.sections)
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in table.notes)
    return (
        f'<h3 class="title" id="{table.name}-title">{html.escape(table.title)}</h3>\n'
        f'<div class="wide"><table class="{kind}" aria-labelledby="{table.name}-title">\n'
        f"<thead><tr>{headings}</tr></thead>\n{bodies}</table></div>\n"
        f'<ul class="notes">{notes}</ul>\n'
    )


def _html_row(table: Table, tag: str, cells: Sequence[str]) -> str:
    """Cells of HTML, those of columns `below` within the cell before."""
    found: list[tuple[str, str]] = []
    for column, cell in zip(table.columns, cells, strict=True):
        if not column.below:
            found.append((column.align, cell))
        elif cell:
            align, above = found.pop()
            found.append((align, f'{above} <span class="below">{cell}</span>'))
    end = tag.split()[0]
    return "".join(f'<{tag} class="{align}">{cell}</{end}>' for align, cell in found)


def _html_heading(column: Column) -> str:
    return html.escape(column.heading).replace(", ", ",<br>")


def _html_cell(cell: str) -> str:
    """An interval stands smaller, below its value: tables stay narrow."""
    value, bracket, interval = cell.partition(" [")
    below = f' <span class="below">[{html.escape(interval)}</span>' if bracket else ""
    return html.escape(value) + below


def _html_section(table: Table, section: Section) -> str:
    lines = []
    if len(table.sections) > 1:
        title = html.escape(section.title)
        width = sum(not column.below for column in table.columns)
        lines.append(f'<tr><th colspan="{width}" scope="rowgroup">{title}</th></tr>')
    for row in section.rows:
        kinds = [kind for kind, on in (("ours", row.ours), ("rule", row.rule_above)) if on]
        cells = _html_row(table, "td", [_html_cell(cell) for cell in row.cells])
        mark = f' class="{" ".join(kinds)}"' if kinds else ""
        lines.append(f"<tr{mark}>{cells}</tr>")
    return "<tbody>\n" + "\n".join(lines) + "\n</tbody>\n"

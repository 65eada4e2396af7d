"""A table as Markdown, CSV, LaTeX (booktabs) and HTML: four renderings of the same cells."""

import html
import re
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
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
.results{border-collapse:separate;border-spacing:0;font:14px/1.45 system-ui,sans-serif;
font-variant-numeric:tabular-nums}
.title{font:600 16px/1.4 system-ui,sans-serif;margin:.4em 0}
.results th,.results td{padding:.25em .7em;text-align:right;vertical-align:top}
.results .left{text-align:left}
.results thead th{border-top:2px solid;border-bottom:1px solid;vertical-align:bottom}
.results tbody th{text-align:left;border-top:1px solid;font-style:italic;font-weight:400}
.results thead+tbody tr:first-child th{border-top:0}
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
    """Escape what Markdown would take for markup; underscores within words and "< 5" are none.

    Not every Markdown takes a backslash before "<" or "&"; an entity each does.
    """
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text)
    text = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)
    return re.sub(r"([\\*`])", r"\\\1", text)


def to_latex(table: Table) -> str:
    """Floats for \\input, as many as the columns name: lying where still wide, scaled to fit.

    The notes stand under the last; the captions of the others say so.
    """
    count = max(number for column in table.columns for number in column.floats)
    floats = [_latex_float(table, number, count) for number in range(1, count + 1)]
    preamble = "% preamble: \\usepackage{booktabs,graphicx,rotating} \\usepackage[T1]{fontenc}"
    return "\n".join([preamble, *floats]) + "\n"


def _latex_float(table: Table, number: int, count: int) -> str:
    shown = [i for i, column in enumerate(table.columns) if number in column.floats]
    columns = [table.columns[i] for i in shown if not table.columns[i].below]
    name = "sidewaystable" if len(columns) > UPRIGHT_COLUMNS else "table"
    caption = latex(table.title.split(". ", 1)[-1])
    if count > 1:
        caption += f", part {number} of {count}" + "; notes below the last" * (number < count)
    lines = [
        rf"\begin{{{name}}}[htbp]",
        r"\centering",
        *([r"\addtocounter{table}{-1}"] if number > 1 else []),
        rf"\caption{{{caption}}}",
        *([rf"\label{{tab:{table.name}}}"] if number == 1 else []),
        r"\setlength{\tabcolsep}{4pt}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{@{{}}{''.join(column.align[0] for column in columns)}@{{}}}}",
        r"\toprule",
        *_latex_headings(columns),
    ]
    for section in table.sections:
        lines.append(r"\midrule")
        if len(table.sections) > 1:
            lines.append(
                rf"\multicolumn{{{len(columns)}}}{{@{{}}l}}{{\textit{{{latex(section.title)}}}}} \\"
            )
        for row in section.rows:
            lines += [r"\addlinespace"] if row.rule_above else []
            lines.append(_latex_row(table.columns, row, shown))
    lines += [r"\bottomrule", r"\end{tabular}}"]
    if number == count:
        notes = r"\par ".join(latex(note) for note in table.notes)
        lines.append(r"\par\medskip")
        lines.append(rf"\parbox{{\linewidth}}{{\footnotesize\raggedright {notes}}}")
    return "\n".join([*lines, rf"\end{{{name}}}"])


def _latex_row(columns: Sequence[Column], row: Row, shown: Sequence[int]) -> str:
    """Cells of the shown columns, those of columns `below` small and wrapped in the cell before."""
    cells: list[str] = []
    for column, cell in ((columns[i], row.cells[i]) for i in shown):
        value, bracket, interval = cell.partition(" [")
        if not column.below:
            text = rf"\textbf{{{latex(value)}}}" if row.ours and value else latex(value)
            cells.append(text + (rf" {{\footnotesize [{latex(interval)}}}" if bracket else ""))
        elif cell:
            below = rf"\\{{\footnotesize {latex(cell)}\strut}}"
            cells[-1] = rf"\parbox[t]{{14em}}{{\raggedright {cells[-1]}{below}}}"
    return " & ".join(cells) + r" \\"


def _latex_headings(columns: Sequence[Column]) -> list[str]:
    """Two lines: of "paper, perplexity" what it is above whose; neighbours share what they are."""
    parts = [column.heading.rpartition(", ")[::2] for column in columns]
    parts = [(whose and what, whose or what) for whose, what in parts]
    above, rules, place = [], [], 1
    for what, group in groupby(parts, key=itemgetter(0)):
        width = len(list(group))
        if what:
            align = "c" if width > 1 else columns[place - 1].align[0]
            above.append(rf"\multicolumn{{{width}}}{{{align}}}{{{latex(what)}}}")
            rules += [rf"\cmidrule(lr){{{place}-{place + width - 1}}}"] if width > 1 else []
        else:
            above += [""] * width
        place += width
    below = " & ".join(latex(whose) for _, whose in parts) + r" \\"
    return [" & ".join(above) + r" \\", *rules, below] if any(above) else [below]


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

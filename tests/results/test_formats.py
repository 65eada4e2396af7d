import html.parser
import re
import shutil
import subprocess

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.results.formats import latex, to_html, to_latex, to_markdown
from pipeline.results.table import (
    Column,
    Row,
    Section,
    Table,
    duration,
    energy,
    number,
    scientific,
    signed,
)
from pipeline.steps import table2, table3, table4

TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Zl", "Zp", "Cs")), max_size=20
)
needs_latex = pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="no pdflatex on this machine"
)


def table(*cells, notes=("Scale demo.",)):
    columns = (Column("row, a_b", "left"), *(Column("x") for _ in cells[1:]))
    rows = (Row(cells, ours=True), Row(tuple("" for _ in cells), rule_above=True))
    return Table(
        name="table2",
        title="Table 2. A_B & C",
        columns=columns,
        sections=(Section("one", rows), Section("two", rows)),
        notes=notes,
        frame=pd.DataFrame(),
    )


class Cells(html.parser.HTMLParser):
    """Text of each td, and whether every tag that was opened is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.cells = [], []

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] == ["td"] or self.open[-2:] == ["td", "span"]:
            self.cells[-1] += data


@given(TEXT, TEXT)
@example("82.0", "82.03 ± 0.20 [79.83, 84.23]")
@example(" [", "a [b] [c")
def test_html_gives_back_every_cell(first, second):
    parser = Cells()
    parser.feed(to_html(table(first, second)))
    parser.close()
    assert not parser.open
    assert parser.cells == [first, second, "", ""] * 2


@given(TEXT, TEXT)
def test_markdown_keeps_its_columns_whatever_the_text(first, second):
    lines = [line for line in to_markdown(table(first, second)).split("\n") if line.startswith("|")]
    assert len(lines) == 8
    for line in lines:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3


@given(st.text(st.sampled_from(r"\&%$#_{}~^<>|ab1 "), max_size=30))
def test_latex_leaves_no_special_character_bare(text):
    bare = re.sub(
        r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar){}",
        "",
        latex(text),
    )
    bare = re.sub(r"\\[&%$#_{}]", "", bare)
    assert not set(bare) & set("\\&%$#_{}~^<>|")


def test_latex_of_the_signs_we_use():
    assert latex("3.3·10¹⁸") == r"3.3$\cdot$10$^{18}$"
    assert latex("O(n²·d)") == r"O(n$^{2}$$\cdot$d)"
    assert latex("−1.2†") == r"$-$1.2$^{\dagger}$"
    assert latex("−1.2 ± 0.3‡") == r"$-$1.2 $\pm$ 0.3$^{\ddagger}$"


def compile_latex(body, folder, *, preamble=""):
    """Run pdflatex on a document that holds `body`; return its log, or fail with its end."""
    packages = rf"\usepackage[T1]{{fontenc}}\usepackage{{booktabs,graphicx,rotating}}{preamble}"
    document = rf"\documentclass{{article}}{packages}\begin{{document}}{body}\end{{document}}"
    (folder / "t.tex").write_text(document)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


def test_latex_spreads_columns_over_the_floats_that_they_name():
    columns = (
        Column("row", "left", floats=(1, 2)),
        Column("here", "left", below=True),
        Column("paper, x"),
        Column("ours, x"),
        Column("y", floats=(2,)),
        Column("in no float", floats=()),
    )
    rows = (Row(("a", "b_c", "1", "2", "3", "4")),)
    built = Table("table3", "Table 3. T", columns, (Section("s", rows),), ("N.",), pd.DataFrame())
    first, second = to_latex(built).split(r"\end{table}")[:2]
    assert r"\multicolumn{2}{c}{x}" in first
    assert r"\raggedright a\\{\footnotesize b\_c\strut}} & 1 & 2 \\" in first
    assert "\nrow & paper & ours \\\\\n" in first
    assert "\nrow & y \\\\\n" in second
    assert "\na & 3 \\\\\n" in second
    assert [part.count(r"\label{tab:table3}") for part in (first, second)] == [1, 0]
    assert [part.count("N.") for part in (first, second)] == [0, 1]
    assert r"\addtocounter{table}{-1}" in second  # both parts have one number


@needs_latex
def test_latex_of_every_sign_compiles(tmp_path):
    marks = r"a_b & 5 % of $x$ # {y} ~ ^ \ < > | − ± × · † ‡ ≤ α ₖ 10⁻³"
    compile_latex(to_latex(table(marks, "3.3·10¹⁸", notes=(marks,))), tmp_path)


@needs_latex
def test_latex_of_the_tables_is_readable_and_fits_its_pages(demo_scale, tmp_path):
    demo_scale.everything()
    for path in demo_scale.scores:  # all that a row can say: p-values, seeds
        demo_scale.statistics(
            path.parents[2].name.partition("-")[0], split=path.parent.name, loss=0.01
        )
    bodies = []
    for step in (table2, table3, table4):
        name = step.__name__.rsplit(".", 1)[1]
        step.main(demo_scale.arguments(name, tmp_path / name))
        bodies.append((tmp_path / f"{name}.tex").read_text())
    measure = (
        r"\renewcommand{\resizebox}[3]{\sbox0{#3}\typeout{WIDTH \the\wd0\space OF \the\linewidth}}"
    )
    log = compile_latex("\n".join(bodies), tmp_path, preamble=measure)
    widths = re.findall(r"WIDTH ([\d.]+)pt ?OF ([\d.]+)pt", log)
    assert len(widths) == 4  # Table 3 in two parts
    for width, line in widths:
        assert 10.0 * float(line) / float(width) >= 7.0, (width, line)  # points, of type set in 10
    assert "Float too large" not in compile_latex("\n".join(bodies), tmp_path)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (0.2, "0 s"),
        (45, "45 s"),
        (200, "3 min 20 s"),
        (43_500, "12 h 5 min"),
        (302_400, "3 d 12 h"),
        (86_400, "1 d"),
    ],
)
def test_duration(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("joules", "text"),
    [(None, ""), (450, "0.12 Wh"), (45_000, "12.5 Wh"), (3.6e6, "1.00 kWh"), (9e8, "250 kWh")],
)
def test_energy(joules, text):
    assert energy(joules) == text


def test_numbers():
    assert number(-1.25, 1) == "−1.2"
    assert signed(0.04, 1) == "0.0"
    assert signed(-0.04, 1) == "0.0"
    assert signed(0.06, 1, marked=True) == "+0.1†"
    assert scientific(3.3e18) == "3.3·10¹⁸"
    assert scientific(2.5e-3) == "2.5·10⁻³"

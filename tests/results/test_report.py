import html.parser
import json
import re
import shutil
import subprocess

import pytest

from pipeline.results.examples import choose_examples, trees_html
from pipeline.results.figures_scores import Translations
from pipeline.results.html_parts import render_markdown
from pipeline.steps import report, table2

needs_chromium = pytest.mark.skipif(
    shutil.which("chromium") is None, reason="no chromium on this machine"
)
VOID = {"meta", "link", "img", "br", "hr", "rect", "path"}


class Page(html.parser.HTMLParser):
    """Identifiers, link targets, image sources and text; checks that tags nest."""

    def __init__(self, source):
        super().__init__()
        self.identifiers, self.links, self.images, self.text, self.open = [], [], [], "", []
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.identifiers += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if tag == "a" else []
        self.images += [found["src"]] if tag == "img" else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text += data


def make(demo, paths, tmp_path, *more):
    """The report of a scale with one table, one figure and one corpus card."""
    tables = tmp_path / "tables" / "table2"
    table2.main(demo.arguments("table2", tables))
    figures = tmp_path / "figures"
    figures.mkdir()
    (figures / "speed.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    entry = {"name": "speed", "title": "Speed", "caption": "a < b", "files": ["speed.svg"]}
    (figures / "figures.json").write_text(json.dumps({"figures": [entry]}))
    lists = {"--runs": demo.trains, "--scores": demo.scores}
    given = [text for name, files in lists.items() for text in (name, *map(str, files))]
    output = tmp_path / "report.html"
    report.main(
        [
            *given,
            *("--scale", "demo", "--tables", f"{tables}.html"),
            *("--figures", str(figures / "figures.json")),
            *("--cards", str(demo.card("grammar_ende"))),
            *("--corpora", str(demo.folder / "corpora")),
            *("--deviations", str(paths.root / "docs" / "deviations.md")),
            *("--devices", str(paths.root / "config" / "devices.yaml")),
            *("--output", str(output)),
            *more,
        ]
    )
    return output


def test_the_page_stands_alone_and_its_links_lead_somewhere(demo_scale, paths, tmp_path):
    source = make(demo_scale.everything(), paths, tmp_path).read_text()
    page = Page(source)
    assert len(page.identifiers) == len(set(page.identifiers))
    assert page.images
    assert all(image.startswith("data:image/") for image in page.images)
    for link in page.links:
        assert link.startswith("https://") or link[1:] in page.identifiers, link
    assert not re.search(r"<script|<link(?![^>]*data:,)|url\(|@import", source)
    for part in ("tables", "figures", "translations", "trees", "corpora", "runs", "deviations"):
        assert part in page.identifiers


def test_every_run_has_a_card_with_commit_and_scores(demo_scale, paths, tmp_path):
    page = Page(make(demo_scale.everything(), paths, tmp_path).read_text())
    for run in ("ende_base-seed1", "table3_c_n2-seed1", "parsing_wsj-seed1"):
        assert f"run-{run}" in page.identifiers
    assert "0123456789abcdef0123456789abcdef01234567" in page.text
    assert "tok:13a" in page.text
    assert "warmup_steps" in page.text


@pytest.mark.parametrize(
    ("commit", "said"),
    [
        ("0123456789abcdef0123456789abcdef01234567", "results made at commit 0123456789ab."),
        (
            "f" * 40 + "-dirty",
            "results made at commit 0123456789ab; this report at commit ffffffffffff-dirty.",
        ),
    ],
)
def test_the_commit_of_the_report_is_named_where_it_is_another(
    demo_scale, paths, tmp_path, monkeypatch, commit, said
):
    monkeypatch.setattr(report, "commit", lambda: commit)
    demo_scale.train("ende_base")
    demo_scale.score("ende_base")
    assert f"1 training run; {said}" in Page(make(demo_scale, paths, tmp_path).read_text()).text


def test_a_scale_with_nothing_makes_a_page_without_empty_parts(demo_scale, paths, tmp_path):
    page = Page(make(demo_scale, paths, tmp_path).read_text())
    assert "tables" in page.identifiers
    assert not {"translations", "trees", "runs"} & set(page.identifiers)


def test_markdown_is_tamed(tmp_path):
    (tmp_path / "a.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    source = (
        "# Top\n\n![a](a.svg) ![b](b.svg) [file](../x.md) [site](https://example.org/)\n\n"
        "| x | y |\n|---|---|\n| 1 | a &lt; b |\n\n<script>x</script> and <b>\n"
    )
    body = render_markdown(source, folder=tmp_path)
    assert "<h3>Top</h3>" in body
    assert body.count("data:image/svg+xml;base64,") == 1
    assert "image missing: b.svg" in body
    assert 'href="https://example.org/"' in body
    assert "x.md" not in body
    assert "&lt;script&gt;" in body
    assert "<b>" not in body
    assert '<div class="wide"><table class="plain">' in body


def test_examples_run_from_the_worst_to_the_best():
    references = [f"the dog number {i} sees the old house" for i in range(40)]
    hypotheses = [" ".join(line.split()[: 1 + i % 8]) for i, line in enumerate(references)]
    found = choose_examples(Translations("x", references, hypotheses, references), count=5)
    scores = [example.score for example in found]
    assert len(found) == 5
    assert scores == sorted(scores)
    assert scores[-1] == pytest.approx(100.0)
    assert all(references[example.line - 1] == example.reference for example in found)


def test_one_sentence_is_enough_for_examples():
    assert len(choose_examples(Translations("x", ["a b"], ["a b"], ["a b"]))) == 1


def test_trees_show_gold_only_where_it_differs():
    gold = "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN house))))"
    wrong = gold.replace("(VP", "(PP")
    both = trees_html([gold, wrong], [gold, gold])
    assert both.count("<svg") == 3
    assert both.count(">gold<") == 1
    assert "bracket F1 100.0" in both


def chromium(page, folder, *options):
    flags = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars "
        "--disable-background-networking --disable-component-update --disable-sync "
        "--enable-logging=stderr --host-resolver-rules=MAP\x00*\x00~NOTFOUND"
    )
    command = ["chromium", *(flag.replace("\x00", " ") for flag in flags.split(" "))]
    options = [f"--user-data-dir={folder / 'profile'}", *options, page.as_uri()]
    return subprocess.run([*command, *options], capture_output=True, timeout=300, check=False)


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("width", [390, 1280])
def test_chromium_opens_it_without_errors(demo_scale, paths, tmp_path, width):
    output = make(demo_scale.everything(), paths, tmp_path)
    shot = tmp_path / "shot.png"
    done = chromium(output, tmp_path, f"--window-size={width},2000", f"--screenshot={shot}")
    assert shot.stat().st_size > 10_000
    assert b"CONSOLE" not in done.stderr


@pytest.mark.slow
@needs_chromium
def test_nothing_is_cut_on_a_phone(demo_scale, paths, tmp_path):
    """Whatever is wider than 390 pixels scrolls by itself; a rule runs below sticky cells too."""
    output = make(demo_scale.everything(), paths, tmp_path)
    script = """<script>
    document.body.style.width = "390px"
    document.querySelectorAll("details").forEach(part => part.open = true)
    const loose = [...document.querySelectorAll("main *")].filter(e => !e.closest(".wide,svg"))
    const cut = loose.filter(e => e.clientWidth && e.scrollWidth > e.clientWidth)
    const sticky = document.querySelector(".results td:first-child")
    document.title = JSON.stringify({
        cut: cut.map(e => e.tagName + "." + e.className),
        borders: getComputedStyle(sticky.closest("table")).borderCollapse,
    })
    </script>"""
    output.write_text(output.read_text() + script)
    done = chromium(output, tmp_path, "--dump-dom")
    found = re.search(r"<title>(.*)</title>", done.stdout.decode())
    assert json.loads(found[1]) == {"cut": [], "borders": "separate"}

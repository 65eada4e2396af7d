"""Both BLEUs: against the Perl scripts' outputs, the libraries, and counts made by hand here."""

import math
import re
import shutil
import string
import subprocess
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import sacrebleu
import sacremoses
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from pipeline.evaluation.bleu import (
    MosesTokens,
    format_multi_bleu,
    split_compounds,
    target_language,
    tokenized_bleu_metric,
    translation_metrics,
)
from pipeline.files import read_lines

LOWER_ASCII = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
# what Python takes for white space and Perl, reading bytes, does not
NO_SPACE_TO_PERL = {code: 0xE000 + code for code in (0x85, 0xA0, *range(0x2000, 0x2030), 0x3000)}

CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co"])
WORDS = st.sampled_from(
    ["Haus", "E-Mail-Adresse", "a-b-c", "ä-ö-ü", "z.B.", "1.000,5", "(ja)", "l'eau", "„gut“", "&",
     "est-à-dire", "...", "-", "x-", "-y", "50%", "Fr.", "no-\u00a0break", "|", "[1]", "U.S.", "'s"]
)  # fmt: skip
TEXT = st.one_of(
    st.lists(WORDS, max_size=12).map(" ".join),
    st.text(CHARACTERS, max_size=40),
    st.text(st.sampled_from("ab-ä.,' \u00a0\"&<\t"), max_size=30),
)
PAIRS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6)


@cache
def tokens_of(language: str, *, split: bool) -> Callable[[str], str]:
    """Tokens that remember: the same lines stand in many rows."""
    return cache(MosesTokens(language, split_compounds=split))


def expected_rows(folder: Path) -> list[list[str]]:
    rows = [line.split("\t") for line in read_lines(folder / "bleu.expected.tsv")]
    assert len(rows) == 28
    return rows


def test_all_rows_of_the_perl_scripts_and_sacrebleu(shared_data: Path) -> None:
    folder = shared_data / "oracle_text"
    for language, system, row, expected in expected_rows(folder):
        hypotheses = read_lines(folder / f"bleu.{system}.{language}")
        references = read_lines(folder / f"bleu.ref.{language}")
        assert printed(row, language, hypotheses, references) == expected, (language, system, row)


def printed(row: str, language: str, hypotheses: list[str], references: list[str]) -> str:
    """What the program named in a row prints, by our metrics or the library's own."""
    tokens = tokens_of(language, split="atat" in row)
    if row.startswith("sacrebleu"):
        _, tokenizer, *_ = row.split()
        metric = BLEU(tokenize=tokenizer, force=True)
        if tokenizer == "none":
            hypotheses, references = (
                [tokens(h) for h in hypotheses],
                [tokens(r) for r in references],
            )
        score = metric.corpus_score(hypotheses, [references])
        return score.format(signature=metric.get_signature().format())
    if row == "multi-bleu-detok raw":
        metric = BLEU(tokenize="13a", smooth_method="none", force=True)
        hypotheses = [line.translate(NO_SPACE_TO_PERL) for line in hypotheses]
        references = [line.translate(NO_SPACE_TO_PERL) for line in references]
    else:
        metric = tokenized_bleu_metric(language)
        metric.tokenizer = tokens
        if "-lc" in row:
            metric.tokenizer = lambda line: tokens(line).translate(LOWER_ASCII)
    return format_multi_bleu(metric.corpus_score(hypotheses, [references]))


def test_german_is_split_and_french_is_not(shared_data: Path) -> None:
    folder = shared_data / "oracle_text"
    for language, row in (("de", "multi-bleu tok atat"), ("fr", "multi-bleu tok")):
        for system in ("hyp_a", "hyp_b"):
            metric = translation_metrics(f"en-{language}")["tokenized_bleu"]
            score = metric.corpus_score(
                read_lines(folder / f"bleu.{system}.{language}"),
                [read_lines(folder / f"bleu.ref.{language}")],
            )
            assert [language, system, row, format_multi_bleu(score)] in expected_rows(folder)


def test_tokens_line_by_line(shared_data: Path) -> None:
    folder = shared_data / "oracle_text"
    for language in ("de", "fr"):
        for text in ("ref", "hyp_a", "hyp_b"):
            raw = read_lines(folder / f"bleu.{text}.{language}")
            for ending, split in (("tok", False), ("tok.atat", True)):
                tokens = tokens_of(language, split=split)
                expected = read_lines(folder / f"bleu.{text}.{ending}.{language}")
                assert [tokens(line) for line in raw] == expected


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_moses_scripts_line_by_line(shared_data: Path, language: str) -> None:
    """The pinned sacremoses gives the Perl scripts' lines in every mode, detokenised too."""
    folder = shared_data / "oracle_text"
    raw = read_lines(folder / f"raw.{language}")
    tokens = MosesTokens(language, split_compounds=False)
    moses = sacremoses.MosesTokenizer(language)
    normalizer = sacremoses.MosesPunctNormalizer(language)
    detokenizer = sacremoses.MosesDetokenizer(language)

    def expected(name: str) -> list[str]:
        return read_lines(folder / f"moses_{name}.{language}")

    assert [tokens(line) for line in raw] == expected("tok")
    for name, options in (
        ("tok_noesc", {"escape": False}),
        ("tok_a", {"aggressive_dash_splits": True}),
        ("tok_a_noesc", {"aggressive_dash_splits": True, "escape": False}),
    ):
        found = [moses.tokenize(line, return_str=True, **options) for line in raw]
        assert found == expected(name), name
    found = [detokenizer.detokenize(line.split(" ")) for line in expected("tok")]
    assert found == expected("detok")
    assert [normalizer.replace_unicode_punct(line) for line in raw] == expected("unipunct")


@pytest.mark.parametrize(("language", "known"), [("en", 1), ("de", 5), ("fr", 4)])
def test_known_differences_of_punctuation_normalisation(
    shared_data: Path, language: str, known: int
) -> None:
    """normalize-punctuation.perl is used by no score; where sacremoses differs is written down."""
    folder = shared_data / "oracle_text"
    normalizer = sacremoses.MosesPunctNormalizer(language)
    raw = read_lines(folder / f"raw.{language}")
    expected = read_lines(folder / f"moses_normpunct.{language}")
    differing = [
        (found, line)
        for found, line in zip(map(normalizer.normalize, raw), expected, strict=True)
        if found != line
    ]
    assert len(differing) == known
    for found, line in differing:  # a full stop stays before a closing quote, or ‘x’ stays single
        assert re.sub(r'([.,])"', r'"\1', found).replace("'", '"') == line.replace("'", '"')


def test_tokens_of_small_cases() -> None:
    german, french = (MosesTokens(code, split_compounds=code == "de") for code in ("de", "fr"))
    assert german("Die E-Mail-Adresse, bitte!") == (
        "Die E ##AT##-##AT## Mail ##AT##-##AT## Adresse , bitte !"
    )
    assert french("C'est-à-dire l'eau.") == "C&apos; est-à-dire l&apos; eau ."
    assert german('Er sagte: "Ja & nein"') == "Er sagte : &quot; Ja &amp; nein &quot;"
    assert german("a\x1cb") == "ab"  # Perl drops it as junk; to Python it is a space
    assert german("  \u00a0 ") == ""


def test_compound_split_of_small_cases() -> None:
    assert split_compounds("a-b-c") == "a ##AT##-##AT## b-c"  # matches do not overlap
    assert split_compounds("ab-cd-ef") == "ab ##AT##-##AT## cd ##AT##-##AT## ef"
    assert split_compounds("a-ä-c") == "a ##AT##-##AT## ä ##AT##-##AT## c"  # ä is two bytes
    assert split_compounds("a\u00a0-\u00a0b") == "a\u00a0 ##AT##-##AT## \u00a0b"
    assert split_compounds("a - b -c d-") == "a - b -c d-"
    assert split_compounds("a---b") == "a ##AT##-##AT## --b"


def split_by_hand(line: str) -> str:
    """Walk the bytes from the left: no space, hyphen, no space."""
    data, done, at = line.encode(), b"", 0
    while at < len(data):
        here = data[at : at + 3]
        if len(here) == 3 and here[1:2] == b"-" and not {here[0], here[2]} & set(b" \t\n\r\f\v"):
            done += here[:1] + b" ##AT##-##AT## " + here[2:]
            at += 3
        else:
            done += here[:1]
            at += 1
    return done.decode()


@given(TEXT)
@settings(max_examples=150)
def test_compound_split_is_a_walk_over_bytes(line: str) -> None:
    assert split_compounds(line) == split_by_hand(line)


@pytest.mark.skipif(shutil.which("perl") is None, reason="needs perl")
@given(st.lists(TEXT, min_size=1, max_size=100))
@settings(max_examples=10, deadline=None)
def test_compound_split_is_perls(lines: list[str]) -> None:
    program = r"s/(\S)-(\S)/$1 ##AT##-##AT## $2/g"
    text = "".join(f"{line}\n" for line in lines).encode()
    printed = subprocess.run(["perl", "-pe", program], input=text, capture_output=True, check=True)
    assert [split_compounds(line) for line in lines] == printed.stdout.decode().split("\n")[:-1]


@given(TEXT, st.sampled_from(["de", "fr", "en", "cs"]))
@settings(max_examples=150)
def test_tokens_are_those_of_sacremoses(line: str, language: str) -> None:
    found = MosesTokens(language, split_compounds=False)(line)
    assert found == sacremoses.MosesTokenizer(language).tokenize(line, return_str=True)
    assert found.split() == re.findall("[^ \t\n\r\f\v]+", found)  # multi-bleu's words


def multi_bleu_by_hand(pairs: list[tuple[str, str]]) -> float:
    """Corpus BLEU of tokenised lines, counted here; n-grams of bytes, as the Perl script has."""
    matched, total, hypothesis_length, reference_length = [0] * 4, [0] * 4, 0, 0
    for hypothesis, reference in pairs:
        found, wanted = hypothesis.encode().split(), reference.encode().split()
        hypothesis_length += len(found)
        reference_length += len(wanted)
        for n in range(1, 5):
            have = Counter(tuple(found[i : i + n]) for i in range(len(found) - n + 1))
            want = Counter(tuple(wanted[i : i + n]) for i in range(len(wanted) - n + 1))
            matched[n - 1] += (have & want).total()
            total[n - 1] += have.total()
    if not all(matched):
        return 0.0
    precision = math.prod(m / t for m, t in zip(matched, total, strict=True)) ** 0.25
    return 100 * precision * min(1.0, math.exp(1 - reference_length / hypothesis_length))


@given(PAIRS, st.sampled_from(["de", "fr"]))
@settings(max_examples=150)
def test_tokenized_bleu_is_multi_bleu_on_tokens(pairs: list[tuple[str, str]], code: str) -> None:
    pairs = [*pairs, ("Ein Haus am See.", "Ein Haus am See.")]  # else nearly always 0
    tokens = MosesTokens(code, split_compounds=code == "de")
    score = translation_metrics(f"en-{code}")["tokenized_bleu"].corpus_score(
        [h for h, _ in pairs], [[r for _, r in pairs]]
    )
    by_hand = multi_bleu_by_hand([(tokens(h), tokens(r)) for h, r in pairs])
    assert score.score == pytest.approx(by_hand, abs=1e-9)


@given(PAIRS)
@settings(max_examples=100)
def test_sacrebleu_and_chrf_are_the_librarys(pairs: list[tuple[str, str]]) -> None:
    hypotheses, references = [h for h, _ in pairs], [r for _, r in pairs]
    metrics = translation_metrics("en-de")
    ours = metrics["sacrebleu"].corpus_score(hypotheses, [references])
    assert ours.score == sacrebleu.corpus_bleu(hypotheses, [references]).score
    by_tokens = multi_bleu_by_hand(
        [(metrics["sacrebleu"].tokenizer(h), metrics["sacrebleu"].tokenizer(r)) for h, r in pairs]
    )
    if by_tokens:  # where the library's smoothing changes nothing
        assert ours.score == pytest.approx(by_tokens, abs=1e-9)
    chrf = metrics["chrf"].corpus_score(hypotheses, [references]).score
    assert chrf == sacrebleu.corpus_chrf(hypotheses, [references]).score


def test_a_score_by_hand() -> None:
    score = translation_metrics("en-fr")["tokenized_bleu"].corpus_score(
        ["the cat sat on the mat ."], [["the cat sat on a mat ."]]
    )
    # "the" counts once; four words in a row before the changed one match, and one pair after it
    assert score.counts == [6, 4, 2, 1]
    assert score.totals == [7, 6, 5, 4]
    assert score.score == pytest.approx(100 * (6 / 7 * 4 / 6 * 2 / 5 * 1 / 4) ** 0.25)


def test_signatures_say_how() -> None:
    for code, tokens in (("de", "moses-de+compounds"), ("fr", "moses-fr"), ("en", "moses-en")):
        metrics = translation_metrics(f"xx-{code}")
        for metric in metrics.values():
            metric.corpus_score(["a"], [["a"]])
        version = f"sacremoses-{sacremoses.__version__}"
        signature = metrics["tokenized_bleu"].get_signature().format()
        assert f"|case:mixed|eff:no|tok:{tokens}-{version}|smooth:none|version:" in signature
        assert metrics["sacrebleu"].get_signature().format() == (
            f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}"
        )


@pytest.mark.parametrize("languages", ["de", "en_de", "en-", "EN-DE", "en-de-fr", ""])
def test_languages_must_be_a_pair(languages: str) -> None:
    with pytest.raises(ValueError, match=f"such as en-de: {languages!r}"):
        target_language(languages)

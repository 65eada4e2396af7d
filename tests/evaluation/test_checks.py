"""Input that cannot be scored, or that should not have been handed over as it is."""

from pathlib import Path

import pytest
from sacrebleu.metrics import BLEU

from pipeline.__main__ import main
from pipeline.evaluation.checks import (
    MOSES_LANGUAGES,
    OWN_TOKENISERS,
    check_counts,
    translation_warnings,
)
from pipeline.evaluation.scores import score_translations, score_trees
from pipeline.files import read_lines

GERMAN = ["Das ist der Hund.", "Die Katze und ein Haus, nicht wahr?", "Er kommt mit dem Zug."]
FRENCH = ["C'est le chien.", "La maison et les chats sont dans le pré.", "Il est une heure, oui."]
ENGLISH = ["This is the dog.", "The cat and the house have it.", "It is the train of that day."]
BY_CODE = {"de": GERMAN, "fr": FRENCH, "en": ENGLISH}


def names(hypotheses: list[str], references: list[str], language: str = "de") -> list[str]:
    warnings = translation_warnings(hypotheses, references, language=language)
    return [warning.partition(":")[0] for warning in warnings]


def test_counts_must_agree() -> None:
    for score, options in ((score_translations, {"languages": "en-de"}), (score_trees, {})):
        with pytest.raises(
            ValueError, match=r"out\.txt has 2 lines, ref\.txt has 3 lines"
        ) as caught:
            score(GERMAN[:2], GERMAN, names=("out.txt", "ref.txt"), **options)
        assert "one line for each sentence" in str(caught.value)
        with pytest.raises(ValueError, match=r"nothing to score.*out\.txt has 0 lines"):
            score([], GERMAN, names=("out.txt", "ref.txt"), **options)
        with pytest.raises(ValueError, match=r"nothing to score.*ref\.txt has 0 lines"):
            score(GERMAN, [], names=("out.txt", "ref.txt"), **options)
    check_counts([""], [""], names=("a", "b"))


def test_a_language_without_rules_is_named() -> None:
    assert names(["x y"], ["x z"], "zz") == ["unknown_language"]
    assert names(["x y"], ["x z"], "zh") == ["own_tokeniser"]
    assert names(["x y"], ["x z"], "ja") == ["unknown_language", "own_tokeniser"]
    for code in MOSES_LANGUAGES - OWN_TOKENISERS.keys():
        assert names(["x y"], ["x z"], code) == []
    assert OWN_TOKENISERS.items() <= BLEU._TOKENIZER_MAP.items()
    assert BLEU._TOKENIZER_MAP.keys() == OWN_TOKENISERS.keys()


def test_the_command_warns_and_scores_all_the_same(tmp_path, capsys) -> None:
    (tmp_path / "out").write_text("x y\n")
    paths = ("--hypotheses", str(tmp_path / "out"), "--references", str(tmp_path / "out"))
    assert main(["score", *paths, "--languages", "en-zz", "--resamples", "0"]) == 0
    printed = capsys.readouterr()
    assert "unknown_language: Moses has rules for as, bn, ca" in printed.err
    assert "tokenizer.perl does, for: zz" in printed.err
    assert "moses-zz" in printed.out


def test_nothing_to_say() -> None:
    for code, lines in BY_CODE.items():
        assert names([line.replace(" ", "  ") for line in lines], lines, code) == []


def test_blank_lines_are_counted() -> None:
    (warning,) = translation_warnings(["", GERMAN[1], " \u00a0"], GERMAN, language="de")
    assert warning == "blank_hypotheses: 2 of 3 lines, the first is line 1"
    assert names(GERMAN, [GERMAN[0], "", GERMAN[2]]) == ["blank_references"]


def test_identical_files() -> None:
    assert names(GERMAN, list(GERMAN)) == ["identical"]


@pytest.mark.parametrize("code", ["de", "fr", "en"])
def test_another_language_on_either_side(code: str) -> None:
    for other in set(BY_CODE) - {code}:
        ours, theirs = BY_CODE[code] * 3, BY_CODE[other] * 3
        assert names(theirs, ours, code) == ["other_language"]
        assert names(ours, theirs, code) == ["other_language"]
        (warning,) = translation_warnings(ours, theirs, language=code, names=("out", "ref"))
        assert warning.startswith(f"other_language: ref should be {code}")
        assert warning.endswith(f": {other}")
    assert names(GERMAN * 3, FRENCH * 3, "cs") == []  # nothing is known of other languages


@pytest.mark.parametrize(
    ("line", "mark"),
    [
        ("\u2581Das \u2581ist", "1 lines with '\u2581'"),
        ("Das ist Sp@@ itze", "1 lines with '@@'"),
        ("ein rich @-@ text", "1 lines with '@-@'"),
        ("rich ##AT##-##AT## text", "1 lines with '##AT##'"),
        ("Das <unk> hier", "1 lines with '<unk>'"),
        ("<s>Das ist gut.</s>", "1 lines with '<s>', 1 lines with '</s>'"),
        ("Das ist gut.<pad><pad>", "1 lines with '<pad>'"),
        ("<bos> Das ist gut. <eos>", "1 lines with '<bos>', 1 lines with '<eos>'"),
        ("<S> DAS IST GUT </S>", "1 lines with '<S>', 1 lines with '</S>'"),
        ("[CLS] Das [UNK] gut. [SEP]", "'[CLS]', 1 lines with '[UNK]', 1 lines with '[SEP]'"),
        ("Das ist gut.<|endoftext|>", "1 lines with '<|endoftext|>'"),
        ("Das <extra_id_0> gut.", "1 lines with '<extra_id_0>'"),
        ("Das \u2047 hier", "1 lines with '\u2047'"),
        ("Das ist &quot; gut &quot;", "1 lines with '&quot;'"),
        ("Das ist gut , oder .", "1 lines with a space before"),
    ],
)
def test_tokenised_input(line: str, mark: str) -> None:
    (warning,) = translation_warnings([line, *GERMAN], ["x", *GERMAN], language="de")
    assert warning.startswith("tokenized_input: hypotheses ")
    assert mark in warning
    assert names(["x", *GERMAN], [line, *GERMAN]) == ["tokenized_input"]


@pytest.mark.parametrize("kind", ["translation", "command"])
def test_special_pieces_of_our_own_vocabulary_are_warned_about(kind, tmp_path, capsys) -> None:
    """Whichever of them a faulty detokeniser leaves behind."""
    for piece in ("<pad>", "<s>", "</s>", "<unk>"):
        lines = [f"Das ist gut. {piece}", *GERMAN]
        if kind == "translation":
            assert names(lines, ["x", *GERMAN]) == ["tokenized_input"]
            continue
        (tmp_path / "out").write_text("\n".join(lines))
        (tmp_path / "ref").write_text("\n".join(["x", *GERMAN]))
        paths = ["--hypotheses", str(tmp_path / "out"), "--references", str(tmp_path / "ref")]
        assert main(["score", *paths, "--languages", "en-de", "--resamples", "0"]) == 0
        assert f"1 lines with {piece!r}" in capsys.readouterr().err


@pytest.mark.parametrize("line", ["Es ist 3 < 4, ja.", "[sic] steht da.", "<strong>Ja</strong>"])
def test_brackets_of_text_are_no_special_pieces(line: str) -> None:
    assert names([line, *GERMAN], ["x", *GERMAN]) == []


def test_a_stray_trace_in_much_text_is_no_warning() -> None:
    lines = [*GERMAN, "AT&amp;T , ja"] + ["Ein Satz wie dieser."] * 300
    assert names(lines, [*GERMAN, "AT&T, ja"] + ["Ein Satz wie jener."] * 300) == []


def test_trees_name_what_was_unusable() -> None:
    gold = "(S (NP (NN a)) (VP (VB b)))"
    scored = score_trees([gold, "", "(S (NN a)", "(S (NN a) (VB c))"], [gold] * 4)
    assert scored.warnings == [
        "unusable_trees: 2 of 4 hypotheses are left out of bracket_f1 as EVALB does and count as "
        "wrong in bracket_f1_all_lines (line 3, words, gold and hypothesis: 2 and 1; "
        "line 4, word 2 differs, gold and hypothesis: b and c)",
        "empty_trees: 1 of 4 hypotheses are left out of bracket_f1 as EVALB does and count as "
        "wrong in bracket_f1_all_lines (line 2, no words)",
    ]
    many = score_trees([""] * 9, [gold] * 9).warnings
    assert many[0].endswith("line 5, no words; and 4 more)")


def test_real_text_is_not_warned_about(shared_data: Path) -> None:
    for year in (2013, 2014):
        for code in ("de", "fr"):
            lines = read_lines(shared_data / "newstest" / f"newstest{year}.en-{code}.{code}")[:800]
            source = read_lines(shared_data / "newstest" / f"newstest{year}.en-{code}.en")[:800]
            assert names([f"{line} " for line in lines], lines, code) == []
            assert names(source, lines, code) == ["other_language"]


def test_real_tokenised_text_is_warned_about(shared_data: Path) -> None:
    for name in ("luong10k.en-de.tok.de", "onmt10k.en-de.tok.de", "zoph10k.en-fr.tok.lc.fr"):
        lines = read_lines(shared_data / "wmt14_samples" / name)[:1000]
        plain = [line.replace(" ", "").replace("&", "") for line in lines]
        assert "tokenized_input" in names(lines, plain, name[-2:])

"""The step that generates a grammar corpus."""

import json
from pathlib import Path

import pytest

from pipeline.corpora.grammar import generate_pairs, generate_trees
from pipeline.corpora.sources import Sources
from pipeline.files import read_lines, sha256_of
from pipeline.steps.generate import main

SIZES = {"train": 30, "dev": 5, "test": 5}


def _corpus(target: str | None, **changes) -> str:
    section = {
        "name": "grammar",
        "kind": "translation" if target else "parsing",
        "languages": ["en", target] if target else ["words", "trees"],
        "source": {"kind": "grammar", "target_language": target, "sizes": SIZES, "seed": 4},
        **({} if target else {"tags": "keep"}),
        **changes,
    }
    return json.dumps(section)


@pytest.mark.parametrize("target", ["de", "fr", None])
def test_raw_files_and_their_list(tmp_path, monkeypatch, target):
    monkeypatch.chdir(tmp_path)
    main(["--corpus", _corpus(target), "--folder", "results/demo/corpora/grammar"])
    sources = Sources.read("results/demo/corpora/grammar/sources.json")
    assert (sources.step, sources.corpus) == ("generate", "grammar")
    sources.check_files("sources.json")
    if target:
        made = generate_pairs(target_language=target, sizes=SIZES, seed=4)
        expected = {
            s: dict(zip(("en", target), zip(*p, strict=True), strict=True)) for s, p in made.items()
        }
    else:
        made = generate_trees(sizes=SIZES, seed=4)
        expected = {split: {"trees": tuple(lines)} for split, lines in made.items()}
    for split, sides in expected.items():
        (part,) = sources.splits[split]
        assert part.lines == SIZES[split]
        assert set(part.sides) == set(sides)
        for side, lines in sides.items():
            file = part.sides[side]
            assert file.path == f"results/demo/corpora/grammar/raw/{split}.{side}"
            assert file.format == ("text" if target else "brackets")
            assert file.sha256 == sha256_of(file.path)
            assert tuple(read_lines(file.path)) == lines


def test_a_raw_file_that_is_gone_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["--corpus", _corpus("de"), "--folder", "corpus"])
    Path("corpus/raw/dev.de").unlink()
    told = r"corpus/raw/dev.de: gone since corpus/sources.json named it; put it back, or run"
    with pytest.raises(ValueError, match=told):
        Sources.read("corpus/sources.json").check_files("corpus/sources.json")


def test_a_raw_file_that_changed_is_named_with_both_digests(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["--corpus", _corpus("de"), "--folder", "corpus"])
    path = Path("corpus/raw/dev.de")
    before = sha256_of(path)
    path.write_bytes(path.read_bytes().replace(b"e", b"f", 1))
    told = rf"corpus/raw/dev.de: changed since .*: sha256 {sha256_of(path)}, then {before}"
    with pytest.raises(ValueError, match=told):
        Sources.read("corpus/sources.json").check_files("corpus/sources.json")


def test_languages_that_the_grammar_does_not_give_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"grammar: languages must be \['en', 'de'\]"):
        main(["--corpus", _corpus("de", languages=["de", "en"]), "--folder", str(tmp_path)])
    assert not list(tmp_path.iterdir())

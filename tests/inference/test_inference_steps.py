"""The steps around a model: decode, perplexity, attention."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from pipeline.config.schema import DecodingConfig
from pipeline.encoded import EOS_ID, write_array
from pipeline.files import read_json, read_lines, write_lines
from pipeline.inference.scoring import log_probs
from pipeline.inference.translator import BLANK
from pipeline.steps import attention, decode, perplexity

LINES = ["the red fox", "", "a dog", "big house and small fox", "x"]


def decode_arguments(model, tmp_path, **changes):
    decoding = DecodingConfig(
        n_average=1, beam_size=3, length_penalty=0.6, max_extra_tokens=4, constrained=False
    ).model_copy(update=changes)
    write_lines(tmp_path / "test.en", LINES)
    return [
        "--model", str(model.path), "--text", str(tmp_path / "test.en"),
        "--decoding", decoding.model_dump_json(), "--split", "test", "--test-set", "toy2014",
        "--max-tokens", "100", "--device", "cpu", "--output", str(tmp_path / "hypotheses.txt"),
        "--report", str(tmp_path / "decode.json"),
    ]  # fmt: skip


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_decode(toy_folder, tmp_path, precision):
    decode.main([*decode_arguments(toy_folder, tmp_path), "--precision", precision])
    hypotheses = read_lines(tmp_path / "hypotheses.txt")
    assert len(hypotheses) == len(LINES)
    assert hypotheses[1] == ""
    report = read_json(tmp_path / "decode.json")
    assert (report["run"], report["split"], report["test_set"]) == (
        "reverser-seed1",
        "test",
        "toy2014",
    )
    assert (report["beam_size"], report["sentences"]) == (3, 5)
    assert report["tgt_tokens"] >= 4


def test_blank_output_is_a_line_of_the_log(toy_folder, tmp_path, monkeypatch, capsys):
    arguments = decode_arguments(toy_folder, tmp_path)
    decode.main(arguments)
    assert "blank output" not in capsys.readouterr().err
    monkeypatch.setattr(
        "pipeline.inference.translator.Translator.run_batch",
        lambda self, lines, **_: [[replace(BLANK, text=" ")] for _ in lines],
    )
    decode.main(arguments)
    assert "warning: blank output for 4 of 4 lines of text; " in capsys.readouterr().err


def test_decode_refuses_an_unknown_key(toy_folder, tmp_path):
    arguments = decode_arguments(toy_folder, tmp_path)
    place = arguments.index("--decoding") + 1
    arguments[place] = json.dumps({**json.loads(arguments[place]), "beam": 4})
    with pytest.raises(ValueError, match="beam"):
        decode.main(arguments)
    assert not (tmp_path / "hypotheses.txt").exists()


def test_perplexity(toy_folder, tmp_path):
    sides = {"src": [[280, 279, EOS_ID], [270, EOS_ID]], "tgt": [[277, EOS_ID], [265, 266, EOS_ID]]}
    arrays = {side: [np.array(x, np.uint16) for x in rows] for side, rows in sides.items()}
    for side, rows in arrays.items():
        write_array(tmp_path / f"{side}_tokens.npy", np.concatenate(rows))
        write_array(tmp_path / f"{side}_offsets.npy", np.cumsum([0, *map(len, rows)]))
    arguments = [
        "--model", str(toy_folder.path), "--encoded", str(tmp_path), "--split", "dev",
        "--test-set", "toy2013", "--max-tokens", "50", "--device", "cpu",
        "--output", str(tmp_path / "perplexity.json"),
    ]  # fmt: skip
    perplexity.main(arguments)
    report = read_json(tmp_path / "perplexity.json")
    model = toy_folder.load()
    total = log_probs(model, arrays["src"], arrays["tgt"], max_tokens=1).sum()
    assert report["tgt_tokens"] == 5
    assert report["nll"] == pytest.approx(-total, rel=1e-5)
    assert report["perplexity"] == pytest.approx(math.exp(-total / 5), rel=1e-5)


def test_attention(toy_folder, tmp_path):
    output = tmp_path / "attention.json"
    arguments = ["--model", str(toy_folder.path), "--output", str(output), "--layer", "1"]
    attention.main([*arguments, "--sentence", "the red fox"])
    data = read_json(output)
    assert data["pieces"] == ["▁the", "▁red", "▁fox", "</s>"]
    heads = torch.tensor(data["heads"])
    assert heads.shape == (2, 4, 4)
    assert torch.allclose(heads.sum(-1), torch.ones(2, 4), atol=1e-4)
    with pytest.raises(ValueError, match="blank"):
        attention.main([*arguments, "--sentence", " "])

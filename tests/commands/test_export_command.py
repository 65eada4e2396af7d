"""The export command as a person calls it."""

import ast
import errno
import importlib.util
import os
import re
import shutil
import textwrap

import pytest

from pipeline.__main__ import main
from pipeline.commands import export
from pipeline.encoded import EOS_ID
from pipeline.model.folder import ModelFolder, save_model


@pytest.fixture
def call(capfd):
    """Gives exit code, text on stdout, text on stderr."""

    def run(*arguments):
        code = main(["export", *map(str, arguments)])
        return code, *capfd.readouterr()

    return run


@pytest.fixture(scope="module")
def ending_model(toy_model_folder, tmp_path_factory):
    """The toy model, taught to end its sentences: the last bias brings states towards their end."""
    folder = ModelFolder.open(toy_model_folder)
    weights = {name: tensor.clone() for name, tensor in folder.load().state_dict().items()}
    weights["embedding.weight"][EOS_ID] += 0.15
    weights[f"decoder.{folder.model.n_layers - 1}.feed_forward_residual.norm.bias"] += 1.0
    path = tmp_path_factory.mktemp("ending") / "model"
    facts = {
        name: getattr(folder, name) for name in ("kind", "languages", "model", "vocab_size", "card")
    }
    facts["decoding"] = folder.decoding.model_copy(update={"max_extra_tokens": 40})
    save_model(path, weights=weights, subwords=folder.path, **facts)
    return path


@pytest.mark.parametrize("format_", export.PACKAGES)
def test_an_exported_model_translates_the_same(call, ending_model, tmp_path, format_):
    pytest.importorskip(export.PACKAGES[format_])
    (tmp_path / "text").write_text("the red fox\n\na dog ran\nbig house and small fox\nred\n")
    arguments = ("--format", format_, "--output", tmp_path / "made")
    code, out, err = call(ending_model, *arguments, "--sentences", tmp_path / "text")
    assert (code, out) == (0, "")
    assert re.search(r"^same translations: ([1-9]) of \1$", err, re.M)
    code, _, err = call(ending_model, *arguments)
    assert code == 1
    assert "--output must be a new or an empty folder" in err


def test_a_model_that_translates_otherwise_is_an_error(call, ending_model, tmp_path, monkeypatch):
    pytest.importorskip("ctranslate2")
    from pipeline.inference import export_check

    monkeypatch.setattr(export_check, "_ctranslate2", lambda exported: lambda *_: [])
    (tmp_path / "text").write_text("".join(f"{word} fox\n" for word in "abcdefghij"))
    code, _, err = call(
        ending_model, "--format", "ctranslate2", "--output", tmp_path / "made",
        "--sentences", tmp_path / "text",
    )  # fmt: skip
    assert code == 1
    assert "translates otherwise than" in err


@pytest.mark.parametrize(
    ("format_", "code", "said"),
    [
        ("ctranslate2", 1, "export: --format ctranslate2 needs a package: pip install ctranslate2"),
        ("transformers", 0, "not compared; that needs a package: pip install transformers"),
    ],
)
def test_a_missing_package_is_named(
    call, toy_model_folder, tmp_path, monkeypatch, format_, code, said
):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        export, "find_spec", lambda name: None if name == export.PACKAGES[format_] else find(name)
    )
    found = call(toy_model_folder, "--format", format_, "--output", tmp_path / "made")
    assert found[0] == code
    assert said in found[2]
    assert (tmp_path / "made").exists() == (code == 0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere", "--format", "transformers"], "no model folder and no run"),
        (["MODEL", "--format", "transformers", "--quantization", "int8"], "--quantization is for"),
        (["MODEL", "--format", "transformers", "--sentences", "/no/such"], "/no/such"),
    ],
)
def test_errors_are_one_line(call, toy_model_folder, tmp_path, arguments, said):
    arguments = [toy_model_folder if argument == "MODEL" else argument for argument in arguments]
    code, out, err = call(*arguments, "--output", tmp_path / "made")
    assert (code, out) == (1, "")
    assert said in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format_", export.PACKAGES)
def test_a_failed_export_leaves_nothing(call, toy_model_folder, tmp_path, monkeypatch, format_):
    """Whether the model can't be read, or the disk is full while the export is written."""
    pytest.importorskip(export.PACKAGES[format_])
    from pipeline.inference import export as exporting

    damaged = shutil.copytree(toy_model_folder, tmp_path / "model")
    (damaged / "model.safetensors").write_bytes(b"half")
    arguments = ("--format", format_, "--output", tmp_path / "made" / "here")
    code, _, err = call(damaged, *arguments)
    assert code == 1
    assert str(damaged / "model.safetensors") in err
    assert [path.name for path in tmp_path.iterdir()] == ["model"]

    def full(source, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))

    monkeypatch.setattr(exporting.shutil, "copyfile", full)
    code, _, err = call(toy_model_folder, *arguments)
    assert code == 1
    assert "No space left" in err
    assert not list((tmp_path / "made").iterdir())


def test_an_output_below_a_file_is_named(call, toy_model_folder, tmp_path):
    (tmp_path / "file").touch()
    code, _, err = call(
        toy_model_folder, "--format", "transformers", "--output", tmp_path / "file" / "made"
    )
    assert code == 1
    assert f"export: {tmp_path / 'file'}: is a file, not a folder" in err


@pytest.mark.parametrize(
    ("format_", "folder", "search"),
    [("transformers", "hf", ()), ("ctranslate2", "ct2", ("--beam-size", "4"))],
)
def test_the_guide_s_way_to_use_an_export(
    call, ending_model, tmp_path, monkeypatch, capfd, project_folder, format_, folder, search
):
    """The lines of docs/translating.md give what `translate --length-penalty 0` gives."""
    pytest.importorskip(export.PACKAGES[format_])
    monkeypatch.chdir(tmp_path)
    assert call(ending_model, "--format", format_, "--output", folder)[0] == 0
    guide = (project_folder / "docs" / "translating.md").read_text()
    (code,) = re.findall(rf"^    from {format_} .*\n(?:(?:    .*)?\n)*", guide, re.M)
    known = {"The dog sleeps.": "the red fox", "We saw it.": "a dog ran to the"}
    for theirs, ours in known.items():
        assert theirs in code
        code = code.replace(theirs, ours)
    exec(textwrap.dedent(code), {})
    said = ast.literal_eval(capfd.readouterr().out)
    (tmp_path / "text").write_text("\n".join(known.values()))
    arguments = ("--input", "text", "--length-penalty", "0", *search)
    assert main(["translate", str(ending_model), *arguments]) == 0
    assert capfd.readouterr().out.split("\n") == [*said, ""]
    assert all(said)

"""What `--config` says has the types that the file has, and a mistake in it is named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.command_line import settings_of
from pipeline.config.loading import ConfigError, load_project

COMMAND_LINE = {
    "seeds=[1,2,3]": {"seeds": [1, 2, 3]},
    "seeds=['1', '2']": {"seeds": [1, 2]},
    "seeds=1,2": {"seeds": [1, 2]},
    "seeds=3": {"seeds": [3]},
    "seeds=": {"seeds": None},
    "results=table2": {"results": ["table2"]},
    "results=[table2, report]": {"results": ["table2", "report"]},
    "results=table2,report": {"results": ["table2", "report"]},
    "data_root=0123": {"data_root": "0123"},
    "data_root=2026": {"data_root": "2026"},
    "data_root=/a=b": {"data_root": "/a=b"},
    "data_root=null": {"data_root": None},
    "scale=lab": {"scale": "lab"},
}


@pytest.mark.parametrize("argument", COMMAND_LINE)
def test_the_command_line_has_the_types_of_the_file(folder, argument):
    settings = settings_of([argument])
    assert settings == COMMAND_LINE[argument]
    if None not in settings.values() or "data_root" in settings:
        config = load_project(folder, settings).config
        for key, value in settings.items():
            assert getattr(config, key) == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("seeds=[1,1]", "command line: seeds: has an entry twice: 1"),
        ("seeds=one", "command line: seeds.0: must be a whole number: 'one'"),
        ("seeds=1.5", "command line: seeds.0: must be a whole number: '1.5'"),
        ("seeds=[]", "command line: seeds: must not be empty"),
        ("results=[]", "command line: results: must not be empty"),
        ("results={a: b}", "command line: results.0: must be text"),
        ("scale=demmo", "did you mean demo?"),
        ("scal=demo", "command line: scal: unknown key; did you mean scale?"),
    ],
)
def test_a_bad_command_line_is_named(folder, argument, message):
    with pytest.raises(ConfigError) as caught:
        load_project(folder, settings_of([argument]))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_mistakes_of_the_command_line_are_named_at_once(folder):
    """Whatever their kind: of a type, of an unknown key, of a name without a file."""
    arguments = ["seeds=one", "scal=x", "scale=demmo", "results=tabel2,figures,fgures"]
    with pytest.raises(ConfigError) as caught:
        load_project(folder, settings_of(arguments))
    lines = str(caught.value).split("\n")
    expected = ("seeds.0: must be", "scal: unknown key", "demmo.yaml; did you mean demo",
                "'tabel2'; did you mean table2", "'fgures'; did you mean figures")  # fmt: skip
    for said in expected:
        (line,) = [line for line in lines if said in line]
        assert line.startswith("command line: ")
    assert len(lines) == len(expected)
    for some in (arguments[1:], arguments[2:], arguments[:1] + arguments[3:]):
        with pytest.raises(ConfigError) as caught:
            load_project(folder, settings_of(some))
        assert set(str(caught.value).split("\n")) < set(lines)


@given(st.text())
def test_any_command_line_gives_a_config_error_or_a_project(project_folder, text):
    for key in ("seeds", "results", "data_root", "scale"):
        try:
            load_project(project_folder / "config", settings_of([f"{key}={text}"]))
        except ConfigError as error:
            message = str(error)
        else:
            continue
        assert message.startswith(f"command line: {key}")

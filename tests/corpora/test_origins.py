"""Files out of a package index and off the Hub, without reaching either."""

import json
import sqlite3
import zipfile

import pytest

from pipeline.config.corpus import Download, HubSet
from pipeline.corpora.obtain import MissingFile, obtain
from pipeline.corpora.origins import fetch_hub
from pipeline.corpora.readers import iter_side
from pipeline.corpora.sources import SourceFile

VERSES = [("e", 2, "Und es\u2028ward"), ("e", 1, "Im Anfang\nschuf"), ("w", 1, "In the beginning")]
QUERY = "SELECT text FROM verses WHERE bible = 'e' ORDER BY number"


def no_warning(message):
    raise AssertionError(message)


@pytest.fixture
def package_index(tmp_path, monkeypatch):
    """A folder of wheels that pip takes for the only index."""
    database = tmp_path / "bible.db"
    connection = sqlite3.connect(database)
    connection.execute("CREATE TABLE verses (bible, number, text)")
    connection.executemany("INSERT INTO verses VALUES (?, ?, ?)", VERSES)
    connection.commit()
    connection.close()
    folder = tmp_path / "index"
    folder.mkdir()
    with zipfile.ZipFile(folder / "toybible-1.0-py3-none-any.whl", "w") as wheel:
        wheel.write(database, "toybible/data/bible.db")
        info = "toybible-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: toybible\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))


def test_a_database_in_a_wheel(package_index, tmp_path):
    item = Download(local="bible/toy.whl", wheel="toybible==1.0")
    found = obtain(item, data_root=None, cache=tmp_path / "cache")
    file = SourceFile(
        path=str(found.path), format="sqlite", members=("toybible/data/bible.db",), field=QUERY
    )
    lines = [line.decode() for line in iter_side(file, warn=no_warning)]
    assert lines == ["Im Anfang schuf", "Und es\u2028ward"]
    assert found.origin == "pip download toybible==1.0"


def test_a_wheel_that_the_index_lacks(package_index, tmp_path):
    item = Download(local="bible/toy.whl", wheel="toybible==2.0")
    with pytest.raises(MissingFile, match=r"pip download toybible==2\.0: .*(.|\n)*place the file"):
        obtain(item, data_root=None, cache=tmp_path / "cache")


def test_a_wheel_with_another_digest_is_not_used(package_index, tmp_path):
    item = Download(local="bible/toy.whl", wheel="toybible==1.0", sha256="0" * 64)
    with pytest.raises(ValueError, match="not the file that the corpus needs"):
        obtain(item, data_root=None, cache=tmp_path / "cache")


def test_a_data_set_as_json_records(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    folder = tmp_path / "wmt"
    folder.mkdir()
    rows = [{"translation": {"de": f"Satz\u2028{n}", "en": f"sentence {n}"}} for n in range(5)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "validation.jsonl").write_text(text)
    path = tmp_path / "cache" / "dev.jsonl.gz"
    fetch_hub(HubSet(dataset=str(folder), split="validation"), path)
    file = SourceFile(path=str(path), format="jsonl", field="translation.de")
    lines = [line.decode() for line in iter_side(file, warn=no_warning)]
    assert lines == [row["translation"]["de"] for row in rows]
    with pytest.raises(ValueError, match="test at its newest commit on the Hugging Face Hub"):
        fetch_hub(HubSet(dataset=str(folder), split="test"), tmp_path / "other")

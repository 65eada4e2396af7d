"""A corpus's files: at hand, fetched, pinned, refused, or missing with a place to put them."""

import hashlib
import io
import os
import tarfile

import pytest

from pipeline.config.corpus import CorpusConfig, Download, Refusal
from pipeline.config.loading import ConfigError, load_corpus, read_yaml
from pipeline.corpora.download import download_corpus
from pipeline.corpora.obtain import MissingFile, obtain
from pipeline.corpora.transfer import Patience

QUICK = Patience(attempts=2, stall_seconds=2.0, first_wait_seconds=0.01)
DATA = b"one\ntwo\n" * 50


def archive(**members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def download(*urls, local="sub/a.txt", **stated):
    remotes = [{"urls": list(urls), **stated}] if urls else []
    return Download.model_validate({"local": local, "remotes": remotes})


def get(item, tmp_path, **options):
    options = {"data_root": tmp_path / "root", "cache": tmp_path / "cache", **options}
    return obtain(item, patience=QUICK, **options)


def place(path, data=DATA):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_a_file_at_hand_is_read_in_place_and_nothing_is_fetched(mirror, tmp_path):
    path = place(tmp_path / "root/sub/a.txt")
    found = get(download(mirror.add("a", DATA)), tmp_path)
    assert (found.path, found.sha256) == (path, hashlib.sha256(DATA).hexdigest())
    assert mirror.requests == []
    assert list(path.parent.iterdir()) == [path]


def test_a_file_at_hand_with_the_wrong_checksum_is_an_error_and_stays(mirror, tmp_path):
    path = place(tmp_path / "root/sub/a.txt", b"other")
    item = download(mirror.add("a", DATA), sha256=hashlib.sha256(DATA).hexdigest())
    with pytest.raises(ValueError, match=r"sub/a\.txt: not the file that the corpus needs"):
        get(item, tmp_path)
    assert path.read_bytes() == b"other"


def test_fetched_once_then_kept(mirror, tmp_path):
    item = download(mirror.add("a", DATA))
    first = get(item, tmp_path)
    assert get(item, tmp_path) == first
    assert len(mirror.requests) == 1
    assert first.path == tmp_path / "cache/sub/a.txt"


def test_a_file_placed_by_hand_in_the_download_folder_is_used(tmp_path):
    place(tmp_path / "cache/sub/a.txt")
    assert get(download(), tmp_path).origin == "placed by hand"


def test_an_unknown_checksum_is_pinned_at_the_first_download(mirror, tmp_path):
    item = download(mirror.add("a", DATA))
    path = get(item, tmp_path).path
    path.write_bytes(b"changed on disk\n")
    with pytest.raises(ValueError, match=r"when it was first fetched.*a\.txt\.unexpected"):
        get(item, tmp_path)
    assert not path.exists()
    assert get(item, tmp_path).sha256 == hashlib.sha256(DATA).hexdigest()
    path.unlink()
    mirror.files["a"] = b"another release\n"
    with pytest.raises(ValueError, match="when it was first fetched"):
        get(item, tmp_path)


@pytest.mark.parametrize("behaviour", ["404", "html"])
def test_the_error_says_where_to_place_the_file(mirror, tmp_path, behaviour):
    urls = [mirror.add(name, DATA, behaviour) for name in ("a", "b")]
    item = download(*urls, sha256="0" * 64)
    with pytest.raises(MissingFile) as error:
        get(item, tmp_path)
    for expected in (*urls, str(tmp_path / "root/sub/a.txt"), str(tmp_path / "cache/sub/a.txt"),
                     "0" * 64):  # fmt: skip
        assert expected in str(error.value)


def test_offline_asks_no_one(mirror, tmp_path):
    item = download(mirror.add("a", DATA))
    with pytest.raises(MissingFile, match=r"offline; place the file at .*root/sub/a\.txt"):
        get(item, tmp_path, offline=True)
    assert mirror.requests == []


def test_an_unsafe_archive_is_refused(mirror, tmp_path):
    item = download(mirror.add("a", archive(**{"../../evil": b"x"})), local="a.tgz")
    with pytest.raises(ValueError, match=r"unsafe member path.*refused"):
        get(item, tmp_path)
    assert not (tmp_path / "evil").exists()


def test_data_of_another_year_is_refused_by_its_checksum(tmp_path):
    digest = hashlib.md5(DATA).hexdigest()
    refusal = Refusal(what="News Commentary v12", md5=(digest,), instead="v9")
    place(tmp_path / "root/sub/a.txt")
    with pytest.raises(ValueError, match=r"by its checksum this is News Commentary v12.*use v9"):
        get(download(), tmp_path, refused=(refusal,))


@pytest.mark.parametrize("name", ["wmt14_ende", "wmt14_enfr"])
@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("nc_v9", "wmt14/training-parallel-nc-v12.tgz"),
        ("nc_v9", "wmt14/training-parallel-nc-v13.tgz"),
        ("nc_v9", "wmt14/training-parallel-nc-v11.tgz"),
        ("test", "wmt14/test-filtered.tgz"),
    ],
)
def test_data_of_another_year_is_refused_by_its_name(project_folder, tmp_path, name, key, wrong):
    path = project_folder / "config" / "corpora" / f"{name}.yaml"
    data = read_yaml(path) | {"name": name}
    CorpusConfig.model_validate(data)
    data["source"]["downloads"][key]["local"] = wrong
    with pytest.raises(ValueError, match=rf"download {key}: {wrong.split('/')[1]} is .*, refused"):
        CorpusConfig.model_validate(data)


def test_every_corpus_file_is_valid(project_folder):
    for path in sorted((project_folder / "config" / "corpora").glob("*.yaml")):
        assert load_corpus(path).name == path.stem


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"source": {"kind": "files", "downloads": {}, "splits": {}}}, "no train split"),
        ({"languages": ["words", "trees"]}, "languages: must be"),
        ({"tags": "drop"}, "tags: must be"),
        ({"vocabulary": 3}, "vocabulary"),
    ],
)
def test_a_corpus_file_that_makes_no_sense_is_refused(project_folder, tmp_path, change, said):
    import yaml

    data = read_yaml(project_folder / "config" / "corpora" / "template.yaml") | change
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(data))
    with pytest.raises(ConfigError, match=rf"mine\.yaml(:\d+)?: .*{said}"):
        load_corpus(tmp_path / "mine.yaml")


def test_a_whole_corpus_several_files_at_once(mirror, tmp_path, project_folder):
    data = read_yaml(project_folder / "config" / "corpora" / "template.yaml")
    members = {f"{split}.{side}": DATA for split in ("train", "dev") for side in ("en", "de")}
    data["source"]["downloads"] = {
        "archive": {
            "local": "m/a.tgz",
            "remotes": [{"urls": [mirror.add("a", archive(**members))]}],
        },
        "test_en": {"local": "m/t.en", "remotes": [{"urls": [mirror.add("t.en", DATA)]}]},
        "test_de": {"local": "m/t.de", "remotes": [{"urls": [mirror.add("t.de", DATA)]}]},
    }
    for split in ("train", "dev"):
        data["source"]["splits"][split] = [
            {
                "name": split,
                "files": {"en": "archive", "de": "archive"},
                "members": {side: [f"{split}.{side}"] for side in ("en", "de")},
                "at_hand": {side: f"unpacked/{split}.{side}" for side in ("en", "de")},
            }
        ]
    config = CorpusConfig.model_validate(data | {"name": "mine"})
    options = {"data_root": tmp_path / "root", "cache": tmp_path / "cache", "patience": QUICK}
    splits = download_corpus(config, **options)
    assert splits["train"][0].sides["en"].members == ("train.en",)
    assert splits["test"][0].sides["de"].path == str(tmp_path / "cache/m/t.de")
    place(tmp_path / "root/unpacked/train.en")
    train = download_corpus(config, **options)["train"][0].sides
    assert (train["en"].members, train["de"].members) == ((), ("train.de",))
    for name in ("a", "t.de"):
        mirror.behaviours[name] = "404"
    options["cache"] = tmp_path / "other"
    with pytest.raises(MissingFile, match=r"2 of 3 files can't be used(.|\n)*a\.tgz(.|\n)*t\.de"):
        download_corpus(config, **options)


@pytest.mark.parametrize("known", [True, False])
def test_a_statement_holds_for_a_file_that_was_fetched_before_it_was_made(mirror, tmp_path, known):
    """known: by the record of its size and time, without reading it again."""
    url = mirror.add("a", DATA)
    path = get(download(url), tmp_path).path
    if not known:
        os.utime(path, (1, 1))
    with pytest.raises(ValueError, match=r"sub/a\.txt: not the file that the corpus needs"):
        get(download(url, sha256="0" * 64), tmp_path)
    assert path.read_bytes() == DATA
    assert get(download(url, sha256=hashlib.sha256(DATA).hexdigest()), tmp_path).path == path

"""The corpus files of the project on real text: the right lines, and the wrong set refused."""

import html
import io
import tarfile

import pytest

from pipeline.config.corpus import CorpusConfig
from pipeline.config.loading import load_corpus, read_yaml
from pipeline.corpora.download import download_corpus
from pipeline.corpora.prepare import prepare
from pipeline.corpora.sources import Sources
from pipeline.files import read_lines


def prepared(config, data_root, folder):
    splits = download_corpus(config, data_root=data_root, cache=folder / "cache", offline=True)
    splits = {split: tuple(parts) for split, parts in splits.items()}
    sources = Sources(step="download", corpus=config.name, commit="unknown", splits=splits)
    return prepare(config, sources, folder / "text")


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("multi30k_ende", (29000, 1014, 1000)),
        ("multi30k_enfr", (29000, 1014, 1000)),
        ("gum", (9224, 1000, 1575)),
    ],
)
def test_the_lab_s_corpora_at_hand(shared_data, project_folder, tmp_path, name, counts):
    config = load_corpus(project_folder / "config" / "corpora" / f"{name}.yaml")
    report = prepared(config, shared_data, tmp_path)
    kept = tuple(report["splits"][split]["kept"] for split in ("train", "dev", "test"))
    assert kept == counts
    assert report["warnings"] == []


def sgml(lines):
    segments = "\n".join(f'<seg id="{n}">{html.escape(line)}</seg>' for n, line in enumerate(lines))
    return f'<refset trglang="any"><doc docid="1">\n{segments}\n</doc></refset>\n'.encode()


def tgz(path, members):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


@pytest.fixture
def wmt14(shared_data, project_folder, tmp_path):
    """A function that makes WMT 2014's archives, with little training text, and prepares them."""

    def make(pair, *, segments=3003):
        language = pair[-2:]
        data = read_yaml(project_folder / "config" / "corpora" / f"wmt14_{pair}.yaml")
        for download in data["source"]["downloads"].values():
            download.pop("remotes")  # archives made here have other digests
        corpora = data["source"]["splits"]["train"]
        for part in corpora:
            members = {part["members"][side][-1]: f"{part['name']} {side}\n".encode()
                       for side in ("en", language)}  # fmt: skip
            tgz(tmp_path / data["source"]["downloads"][part["files"]["en"]]["local"], members)
        text = {
            (year, side): shared_data / "newstest" / f"newstest{year}.en-{language}.{side}"
            for year in (2013, 2014)
            for side in ("en", language)
        }
        dev = {f"dev/newstest2013.{side}": text[2013, side].read_bytes()
               for side in ("en", language)}  # fmt: skip
        tgz(tmp_path / "wmt14/dev.tgz", dev)
        tag = {"de": "deen", "fr": "fren"}[language]
        test = {
            f"test-full/newstest2014-{tag}-{kind}.{side}.sgm": sgml(
                read_lines(text[2014, side])[:segments]
            )
            for kind, side in (("src", "en"), ("ref", language))
        }
        tgz(tmp_path / "wmt14/test-full.tgz", test)
        config = CorpusConfig.model_validate(data | {"name": f"wmt14_{pair}"})
        return prepared(config, tmp_path, tmp_path), text, len(corpora)

    return make


@pytest.mark.parametrize("pair", ["ende", "enfr"])
def test_wmt14_from_archives_gives_the_lines_of_newstest(wmt14, tmp_path, pair):
    report, text, n_parts = wmt14(pair)
    language = pair[-2:]
    for split, year in (("dev", 2013), ("test", 2014)):
        for side in ("en", language):
            assert read_lines(tmp_path / f"text/{split}.{side}") == read_lines(text[year, side])
    counts = report["splits"]
    assert (counts["dev"]["kept"], counts["test"]["kept"]) == (3000, 3003)
    assert counts["train"]["kept"] == n_parts
    published = [line for line in report["warnings"] if "are published" in line]
    assert len(published) == n_parts  # each part of one line differs from the published count


def test_the_filtered_set_under_the_right_name_is_refused(wmt14):
    with pytest.raises(ValueError, match=r"2,737 lines.*refused.*3,003"):
        wmt14("ende", segments=2737)

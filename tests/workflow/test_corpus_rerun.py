"""A corpus file is read by its own corpus alone, each of its sections by the steps it is for."""

import yaml

CORPORA = ("tiny", "tiny_fr")
TARGETS = {name: f"results/tiny/corpora/{name}/encoded" for name in CORPORA}


def edit(workspace, name, **sections):
    path = workspace.folder / "config" / "corpora" / f"{name}.yaml"
    data = yaml.safe_load(path.read_text())
    for section, values in sections.items():
        data[section] = {**data[section], **values}
    path.write_text(yaml.safe_dump(data))


def test_changing_one_corpus_file_reruns_only_what_depends_on_it(fresh):
    config = fresh.folder / "config"
    corpus = yaml.safe_load((config / "corpora" / "tiny.yaml").read_text())
    corpus |= {"languages": ["en", "fr"], "source": corpus["source"] | {"target_language": "fr"}}
    (config / "corpora" / "tiny_fr.yaml").write_text(yaml.safe_dump(corpus))
    scale = yaml.safe_load((config / "scales" / "tiny.yaml").read_text())
    scale["tasks"]["en-fr"] = "tiny_fr"
    (config / "scales" / "tiny.yaml").write_text(yaml.safe_dump(scale))
    fresh.make(*TARGETS.values())
    assert not fresh.planned(*TARGETS.values())

    path = config / "corpora" / "tiny_fr.yaml"
    path.write_text("# a remark\n" + path.read_text())
    assert not fresh.planned(*TARGETS.values())

    edit(fresh, "tiny_fr", subwords={"vocab_size": 310})
    assert not fresh.planned(TARGETS["tiny"])
    planned = fresh.planned(*TARGETS.values())
    assert planned == {"learn_subwords": 1, "encode": 1}
    fresh.make(*TARGETS.values())
    assert not fresh.planned(*TARGETS.values())

    edit(fresh, "tiny_fr", filters={"max_words": 12})
    planned = fresh.planned(*TARGETS.values())
    assert planned == {"prepare": 1, "learn_subwords": 1, "encode": 1}

    edit(fresh, "tiny_fr", filters={"max_words": None}, source={"seed": 2})
    planned = fresh.planned(*TARGETS.values())
    assert planned == {"generate": 1, "prepare": 1, "learn_subwords": 1, "encode": 1}

    edit(fresh, "tiny_fr", source={"seed": 1}, test_sets={"dev": "another name"})
    path.write_text(path.read_text().replace("title: ", "title: A new "))
    assert not fresh.planned(*TARGETS.values())

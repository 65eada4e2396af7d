# What the rules of self-training and of the search on dev look up.


def treebank_path(path):
    """An input function: `path` below the folder of the treebank of a self-trained corpus."""
    return lambda wildcards: (
        f"{R}/corpora/{PROJECT.corpora[wildcards.corpus].source.treebank}/{path}"
    )


def parser_model(wildcards):
    """Folder of the model that parses raw text for a self-trained corpus: the first seed's."""
    name = PROJECT.corpora[wildcards.corpus].source.parser
    n_average = PROJECT.experiments[name].decoding.n_average
    return f"{R}/runs/{name}-seed{PROJECT.seeds_of(name)[0]}/average{n_average}/model"


def raw_text(wildcards):
    """Folder of the prepared text that is parsed for a self-trained corpus."""
    return f"{R}/corpora/{PROJECT.corpora[wildcards.corpus].source.raw.corpus}/text"


def raw_decoding(wildcards):
    """The parser's own search, with the beam that the self-trained corpus states."""
    source = PROJECT.corpora[wildcards.corpus].source
    decoding = PROJECT.experiments[source.parser].decoding
    changes = {"beam_size": source.beam_size} if source.beam_size else {}
    return section(decoding.model_copy(update=changes))


def shards(suffix):
    """An input function: what each job of parse_raw wrote."""
    return lambda wildcards: [
        f"{R}/corpora/{wildcards.corpus}/parsed/{shard}.{suffix}"
        for shard in range(PROJECT.corpora[wildcards.corpus].source.shards)
    ]


def searched(wildcards):
    """Training and decoding of a setting of a search, such as 3-1."""
    search = PROJECT.searches[wildcards.search]
    training, decoding = map(int, wildcards.setting.split("-"))
    return search.trainings[training - 1], search.decodings[decoding - 1]


def searched_run(search, training):
    """Folder of a training of a search: the first seed of the experiment."""
    seed = PROJECT.seeds_of(PROJECT.searches[search].experiment)[0]
    return f"{R}/search/search_{search}_{training}-seed{seed}"


def searched_model(wildcards):
    run = searched_run(wildcards.search, wildcards.setting.split("-")[0])
    return f"{run}/average{searched(wildcards)[1].n_average}/model"


def searched_corpus(wildcards):
    return PROJECT.corpus_of(PROJECT.searches[wildcards.search].experiment)


def searched_text(wildcards):
    return f"{R}/corpora/{searched_corpus(wildcards).name}/text"


def searched_scores(wildcards):
    """scores.json of each setting, in their order."""
    return [
        f"{R}/search/{wildcards.search}/{setting}/dev/scores.json"
        for setting, _ in PROJECT.searches[wildcards.search].settings()
    ]


def searched_runs(wildcards):
    """train.json of each setting, in their order."""
    return [
        f"{searched_run(wildcards.search, setting.split('-')[0])}/train.json"
        for setting, _ in PROJECT.searches[wildcards.search].settings()
    ]

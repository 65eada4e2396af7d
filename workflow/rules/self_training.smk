# Self-training: a parser reads raw text, and the surest of its trees stand beside the treebank's.


rule parse_raw:
    input:
        model=parser_model,
        text=raw_text,
        code=code(
            "steps/parse_raw.py",
            "corpora/penn_words.py",
            "corpora/silver.py",
            "inference/beam.py",
            "inference/translator.py",
        ),
    output:
        trees="<results>/corpora/{corpus}/parsed/{shard}.trees",
        columns="<results>/corpora/{corpus}/parsed/{shard}.tsv",
        report="<results>/corpora/{corpus}/parsed/{shard}.json",
    log:
        "<logs>/parse_raw/{corpus}-{shard}.log",
    benchmark:
        "<benchmarks>/parse_raw/{corpus}-{shard}.tsv"
    wildcard_constraints:
        corpus="|".join(SELF_TRAINED) or "(?!)",
        shard=r"\d+",
    priority: corpus_importance
    conda:
        environment("training")
    threads: 1
    resources:
        **MACHINE.evaluation(accelerators=1),
        max_tokens=4096,
    params:
        raw=lambda wildcards: section(PROJECT.corpora[wildcards.corpus].source.raw),
        side=lambda wildcards: PROJECT.corpora[wildcards.corpus].source.raw.side,
        shards=lambda wildcards: PROJECT.corpora[wildcards.corpus].source.shards,
        decoding=raw_decoding,
    shell:
        "python -m pipeline.steps.parse_raw --model {input.model:q}"
        " --text {input.text:q}/train.{params.side} --raw {params.raw:q}"
        " --decoding {params.decoding:q} --shard {wildcards.shard} {params.shards}"
        " --max-tokens {resources.max_tokens} --trees {output.trees:q}"
        " --columns {output.columns:q} --report {output.report:q} 2> {log:q} || show_error {log:q}"


rule select_silver:
    input:
        trees=shards("trees"),
        columns=shards("tsv"),
        treebank=treebank_path("text"),
        subwords=treebank_path("subwords"),
        code=code("steps/select_silver.py", "corpora/silver.py"),
        again=whole("corpora/{corpus}/subwords"),
    output:
        sources="<results>/corpora/{corpus}/sources.json",
        silver="<results>/corpora/{corpus}/raw/silver.trees",
        subwords=directory("<results>/corpora/{corpus}/subwords"),
        report="<results>/corpora/{corpus}/silver.json",
    log:
        "<logs>/select_silver/{corpus}.log",
    benchmark:
        "<benchmarks>/select_silver/{corpus}.tsv"
    wildcard_constraints:
        corpus="|".join(SELF_TRAINED) or "(?!)",
    priority: corpus_importance
    conda:
        environment("text")
    params:
        source=lambda wildcards: section(PROJECT.corpora[wildcards.corpus].source),
    shell:
        "python -m pipeline.steps.select_silver --corpus {wildcards.corpus:q}"
        " --source {params.source:q} --trees {input.trees:q} --columns {input.columns:q}"
        " --treebank {input.treebank:q} --treebank-subwords {input.subwords:q}"
        " --silver {output.silver:q} --subwords {output.subwords:q}"
        " --sources {output.sources:q} --report {output.report:q} 2> {log:q} || show_error {log:q}"

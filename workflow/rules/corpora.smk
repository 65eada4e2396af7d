# From raw files or the grammar to memory-mapped token ids.


rule download:
    input:
        corpus_file,
        given=given,
        again=changed_files,
    output:
        sources="<results>/corpora/{corpus}/sources.json",
        watched="<results>/corpora/{corpus}/files.json",
    log:
        "<logs>/download/{corpus}.log",
    benchmark:
        "<benchmarks>/download/{corpus}.tsv"
    wildcard_constraints:
        corpus="|".join(FETCHED) or "(?!)",
    priority: corpus_importance
    localrule: True
    conda:
        environment("text")
    params:
        corpus=corpus_section(RawCorpus),
        data_root=lambda wildcards: PROJECT.config.data_root or "",
    shell:
        "python -m pipeline.steps.download --corpus {params.corpus:q} --data-root {params.data_root:q}"
        " --cache results/downloads --output {output.sources:q} --watched {output.watched:q} 2> >(tee {log:q} >&2)"


rule downloads:
    input:
        expand("<results>/corpora/{corpus}/sources.json", corpus=FETCHED),
    localrule: True


rule generate:
    input:
        corpus_file,
        code=code("steps/generate.py", "corpora/grammar"),
        again=whole("corpora/{corpus}/raw"),
    output:
        sources="<results>/corpora/{corpus}/sources.json",
        raw=directory("<results>/corpora/{corpus}/raw"),
    log:
        "<logs>/generate/{corpus}.log",
    benchmark:
        "<benchmarks>/generate/{corpus}.tsv"
    wildcard_constraints:
        corpus="|".join(GENERATED) or "(?!)",
    priority: corpus_importance
    conda:
        environment("text")
    params:
        corpus=corpus_section(RawCorpus),
        folder=folder_of_output,
    shell:
        "python -m pipeline.steps.generate --corpus {params.corpus:q} --folder {params.folder:q} 2> {log:q} || show_error {log:q}"


rule prepare:
    input:
        sources="<results>/corpora/{corpus}/sources.json",
        code=code("steps/prepare.py", "corpora"),
        again=whole("corpora/{corpus}/text"),
    output:
        text=directory("<results>/corpora/{corpus}/text"),
        report="<results>/corpora/{corpus}/prepare.json",
    log:
        "<logs>/prepare/{corpus}.log",
    benchmark:
        "<benchmarks>/prepare/{corpus}.tsv"
    priority: corpus_importance
    conda:
        environment("text")
    params:
        corpus=corpus_section(TextCorpus),
    shell:
        "python -m pipeline.steps.prepare --corpus {params.corpus:q} --sources {input.sources:q}"
        " --output {output.text:q} --report {output.report:q} 2> {log:q} || show_error {log:q}"


rule learn_subwords:
    input:
        text="<results>/corpora/{corpus}/text",
        code=code("steps/learn_subwords.py", "subwords"),
        again=whole("corpora/{corpus}/subwords"),
    output:
        directory("<results>/corpora/{corpus}/subwords"),
    log:
        "<logs>/learn_subwords/{corpus}.log",
    benchmark:
        "<benchmarks>/learn_subwords/{corpus}.tsv"
    wildcard_constraints:
        corpus="|".join(GENERATED + FETCHED),
    priority: corpus_importance
    conda:
        environment("text")
    threads: corpus_threads
    params:
        corpus=corpus_section(SubwordCorpus),
    shell:
        "python -m pipeline.steps.learn_subwords --corpus {params.corpus:q} --text {input.text:q}"
        " --output {output:q} 2> {log:q} || show_error {log:q}"


rule encode:
    input:
        text="<results>/corpora/{corpus}/text",
        subwords="<results>/corpora/{corpus}/subwords",
        code=code(
            "steps/encode.py", "subwords", "corpora/linearise.py", "corpora/symbols.py"
        ),
        again=whole("corpora/{corpus}/encoded"),
    output:
        directory("<results>/corpora/{corpus}/encoded"),
    log:
        "<logs>/encode/{corpus}.log",
    benchmark:
        "<benchmarks>/encode/{corpus}.tsv"
    priority: corpus_importance
    conda:
        environment("text")
    threads: 1
    params:
        corpus=corpus_section(Sides),
    shell:
        "python -m pipeline.steps.encode --corpus {params.corpus:q} --text {input.text:q}"
        " --subwords {input.subwords:q} --threads {threads} --output {output:q} 2> {log:q} || show_error {log:q}"


rule bucket:
    input:
        encoded="<results>/corpora/{corpus}/encoded",
        code=code("steps/bucket.py", "batching"),
        again=whole("corpora/{corpus}/buckets"),
    output:
        directory("<results>/corpora/{corpus}/buckets"),
    log:
        "<logs>/bucket/{corpus}.log",
    benchmark:
        "<benchmarks>/bucket/{corpus}.tsv"
    priority: corpus_importance
    conda:
        environment("text")
    shell:
        "python -m pipeline.steps.bucket --encoded {input.encoded:q} --output {output:q} 2> {log:q} || show_error {log:q}"


rule card:
    input:
        sources="<results>/corpora/{corpus}/sources.json",
        text="<results>/corpora/{corpus}/text",
        report="<results>/corpora/{corpus}/prepare.json",
        subwords="<results>/corpora/{corpus}/subwords",
        encoded="<results>/corpora/{corpus}/encoded",
        code=code(
            "steps/card.py",
            "corpora/card.py",
            "corpora/baselines.py",
            "results/card.py",
        ),
        again=whole("corpora/{corpus}/card"),
    output:
        directory("<results>/corpora/{corpus}/card"),
    log:
        "<logs>/card/{corpus}.log",
    benchmark:
        "<benchmarks>/card/{corpus}.tsv"
    conda:
        environment("results")
    params:
        corpus=corpus_section(CorpusConfig),
    shell:
        "python -m pipeline.steps.card --corpus {params.corpus:q} --sources {input.sources:q}"
        " --text {input.text:q} --report {input.report:q} --subwords {input.subwords:q}"
        " --encoded {input.encoded:q} --output {output:q} 2> {log:q} || show_error {log:q}"

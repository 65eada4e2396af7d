# From raw files or the grammar to memory-mapped token ids.


rule download:
    input:
        ancient("config/corpora/{corpus}.yaml"),
    output:
        R + "/corpora/{corpus}/sources.json",
    log:
        R + "/logs/download/{corpus}.log",
    benchmark:
        R + "/benchmarks/download/{corpus}.tsv"
    wildcard_constraints:
        corpus="|".join(FETCHED) or "(?!)",
    retries: 2
    conda:
        "../../envs/text.yaml"
    params:
        corpus=corpus_section,
        data_root=PROJECT.config.data_root or "",
    shell:
        "python -m pipeline.steps.download --corpus {params.corpus:q} --data-root {params.data_root:q}"
        " --cache results/downloads --output {output:q} 2> >(tee {log:q} >&2)"


rule generate:
    input:
        ancient("config/corpora/{corpus}.yaml"),
        code=code("steps/generate.py"),
    output:
        sources=R + "/corpora/{corpus}/sources.json",
        raw=directory(R + "/corpora/{corpus}/raw"),
    log:
        R + "/logs/generate/{corpus}.log",
    benchmark:
        R + "/benchmarks/generate/{corpus}.tsv"
    wildcard_constraints:
        corpus="|".join(GENERATED) or "(?!)",
    conda:
        "../../envs/text.yaml"
    params:
        corpus=corpus_section,
        folder=R + "/corpora/{corpus}",
    shell:
        "python -m pipeline.steps.generate --corpus {params.corpus:q} --folder {params.folder:q} 2> {log:q}"


rule prepare:
    input:
        sources=R + "/corpora/{corpus}/sources.json",
        code=code("steps/prepare.py", "corpora/prepare.py"),
    output:
        text=directory(R + "/corpora/{corpus}/text"),
        report=R + "/corpora/{corpus}/prepare.json",
    log:
        R + "/logs/prepare/{corpus}.log",
    benchmark:
        R + "/benchmarks/prepare/{corpus}.tsv"
    conda:
        "../../envs/text.yaml"
    params:
        corpus=corpus_section,
    shell:
        "python -m pipeline.steps.prepare --corpus {params.corpus:q} --sources {input.sources:q}"
        " --output {output.text:q} --report {output.report:q} 2> {log:q}"


rule learn_subwords:
    input:
        text=R + "/corpora/{corpus}/text",
        code=code("steps/learn_subwords.py", "subwords/learn.py"),
    output:
        directory(R + "/corpora/{corpus}/subwords"),
    log:
        R + "/logs/learn_subwords/{corpus}.log",
    benchmark:
        R + "/benchmarks/learn_subwords/{corpus}.tsv"
    conda:
        "../../envs/text.yaml"
    params:
        corpus=corpus_section,
    shell:
        "python -m pipeline.steps.learn_subwords --corpus {params.corpus:q} --text {input.text:q}"
        " --output {output:q} 2> {log:q}"


rule encode:
    input:
        text=R + "/corpora/{corpus}/text",
        subwords=R + "/corpora/{corpus}/subwords",
        code=code("steps/encode.py", "subwords/encode.py"),
    output:
        directory(R + "/corpora/{corpus}/encoded"),
    log:
        R + "/logs/encode/{corpus}.log",
    benchmark:
        R + "/benchmarks/encode/{corpus}.tsv"
    conda:
        "../../envs/text.yaml"
    threads: 1
    params:
        corpus=corpus_section,
    shell:
        "python -m pipeline.steps.encode --corpus {params.corpus:q} --text {input.text:q}"
        " --subwords {input.subwords:q} --threads {threads} --output {output:q} 2> {log:q}"


rule bucket:
    input:
        encoded=R + "/corpora/{corpus}/encoded",
        code=code("steps/bucket.py", "batching/buckets.py"),
    output:
        directory(R + "/corpora/{corpus}/buckets"),
    log:
        R + "/logs/bucket/{corpus}.log",
    benchmark:
        R + "/benchmarks/bucket/{corpus}.tsv"
    conda:
        "../../envs/text.yaml"
    shell:
        "python -m pipeline.steps.bucket --encoded {input.encoded:q} --output {output:q} 2> {log:q}"

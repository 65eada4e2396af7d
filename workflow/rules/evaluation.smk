# Decode, score, and the perplexity of the references.


rule decode:
    input:
        model=AVERAGE + "/model",
        text=corpus_path("text"),
        code=code("steps/decode.py", "inference/beam.py"),
    output:
        hypotheses=AVERAGE + "/{split}/hypotheses.txt",
        report=AVERAGE + "/{split}/decode.json",
    log:
        R + "/logs/decode/{run}-{n_average}-{split}.log",
    benchmark:
        R + "/benchmarks/decode/{run}-{n_average}-{split}.tsv"
    conda:
        "../../envs/training.yaml"
    threads: 1
    resources:
        max_tokens=4096,
    params:
        decoding=lambda wildcards: section(experiment(wildcards).decoding),
        source=lambda wildcards: corpus(wildcards).languages[0],
        test_set=lambda wildcards: corpus(wildcards).test_sets[wildcards.split],
    shell:
        "python -m pipeline.steps.decode --model {input.model:q}"
        " --text {input.text:q}/{wildcards.split}.{params.source}"
        " --decoding {params.decoding:q} --split {wildcards.split} --test-set {params.test_set:q}"
        " --max-tokens {resources.max_tokens}"
        " --output {output.hypotheses:q} --report {output.report:q} 2> {log:q}"


rule perplexity:
    input:
        model=AVERAGE + "/model",
        encoded=corpus_path("encoded"),
        code=code("steps/perplexity.py", "model/likelihood.py"),
    output:
        AVERAGE + "/{split}/perplexity.json",
    log:
        R + "/logs/perplexity/{run}-{n_average}-{split}.log",
    benchmark:
        R + "/benchmarks/perplexity/{run}-{n_average}-{split}.tsv"
    conda:
        "../../envs/training.yaml"
    resources:
        max_tokens=4096,
    params:
        test_set=lambda wildcards: corpus(wildcards).test_sets[wildcards.split],
    shell:
        "python -m pipeline.steps.perplexity --model {input.model:q}"
        " --encoded {input.encoded:q}/{wildcards.split} --split {wildcards.split}"
        " --test-set {params.test_set:q} --max-tokens {resources.max_tokens}"
        " --output {output:q} 2> {log:q}"


rule score:
    input:
        hypotheses=AVERAGE + "/{split}/hypotheses.txt",
        decode=AVERAGE + "/{split}/decode.json",
        text=corpus_path("text"),
        code=code("steps/score.py", "evaluation/bleu.py", "evaluation/brackets.py"),
    output:
        AVERAGE + "/{split}/scores.json",
    log:
        R + "/logs/score/{run}-{n_average}-{split}.log",
    benchmark:
        R + "/benchmarks/score/{run}-{n_average}-{split}.tsv"
    conda:
        "../../envs/text.yaml"
    params:
        kind=lambda wildcards: corpus(wildcards).kind,
        languages=lambda wildcards: "-".join(corpus(wildcards).languages),
        reference=lambda wildcards: corpus(wildcards).languages[1],
        test_set=lambda wildcards: corpus(wildcards).test_sets[wildcards.split],
    shell:
        "python -m pipeline.steps.score --kind {params.kind} --languages {params.languages:q}"
        " --hypotheses {input.hypotheses:q}"
        " --references {input.text:q}/{wildcards.split}.{params.reference}"
        " --test-set {params.test_set:q} --decode {input.decode:q} --output {output:q} 2> {log:q}"

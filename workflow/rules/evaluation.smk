# Decode, score, and the perplexity of the references.


rule decode:
    input:
        model="<average>/model",
        text=corpus_path("text"),
        code=code("steps/decode.py", "inference/beam.py", "inference/translator.py"),
    output:
        hypotheses="<average>/{split}/hypotheses.txt",
        report="<average>/{split}/decode.json",
    log:
        "<logs>/decode/{run}-{n_average}-{split}.log",
    benchmark:
        "<benchmarks>/decode/{run}-{n_average}-{split}.tsv"
    priority: importance
    group:
        "evaluate"
    conda:
        environment("training")
    threads: 1
    resources:
        **MACHINE.evaluation(accelerators=1),
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
        " --output {output.hypotheses:q} --report {output.report:q} 2> {log:q} || show_error {log:q}"


rule perplexity:
    input:
        model="<average>/model",
        encoded=corpus_path("encoded"),
        code=code("steps/perplexity.py", "model/likelihood.py"),
    output:
        "<average>/{split}/perplexity.json",
    log:
        "<logs>/perplexity/{run}-{n_average}-{split}.log",
    benchmark:
        "<benchmarks>/perplexity/{run}-{n_average}-{split}.tsv"
    priority: importance
    group:
        "evaluate"
    conda:
        environment("training")
    resources:
        **MACHINE.evaluation(accelerators=1),
        max_tokens=4096,
    params:
        test_set=lambda wildcards: corpus(wildcards).test_sets[wildcards.split],
    shell:
        "python -m pipeline.steps.perplexity --model {input.model:q}"
        " --encoded {input.encoded:q}/{wildcards.split} --split {wildcards.split}"
        " --test-set {params.test_set:q} --max-tokens {resources.max_tokens}"
        " --output {output:q} 2> {log:q} || show_error {log:q}"


rule score:
    input:
        hypotheses="<average>/{split}/hypotheses.txt",
        decode="<average>/{split}/decode.json",
        text=corpus_path("text"),
        code=code("steps/score.py", "evaluation"),
    output:
        scores="<average>/{split}/scores.json",
        statistics="<average>/{split}/statistics.npz",
    log:
        "<logs>/score/{run}-{n_average}-{split}.log",
    benchmark:
        "<benchmarks>/score/{run}-{n_average}-{split}.tsv"
    priority: importance
    group:
        "evaluate"
    conda:
        environment("text")
    resources:
        **MACHINE.evaluation(),
    params:
        kind=lambda wildcards: corpus(wildcards).kind,
        languages=lambda wildcards: "-".join(corpus(wildcards).languages),
        reference=lambda wildcards: corpus(wildcards).languages[1],
        test_set=lambda wildcards: corpus(wildcards).test_sets[wildcards.split],
    shell:
        "python -m pipeline.steps.score --kind {params.kind} --languages {params.languages:q}"
        " --hypotheses {input.hypotheses:q}"
        " --references {input.text:q}/{wildcards.split}.{params.reference}"
        " --test-set {params.test_set:q} --decode {input.decode:q}"
        " --output {output.scores:q} --statistics {output.statistics:q} 2> {log:q} || show_error {log:q}"


rule attention:
    input:
        model=attention_model,
        code=code("steps/attention.py", "inference/attention_maps.py"),
    output:
        "<results>/attention/{sentence}.json",
    log:
        "<logs>/attention/{sentence}.log",
    benchmark:
        "<benchmarks>/attention/{sentence}.tsv"
    conda:
        environment("training")
    params:
        text=lambda wildcards: PROJECT.scale.attention.sentences[wildcards.sentence],
    shell:
        "python -m pipeline.steps.attention --model {input.model:q} --sentence {params.text:q}"
        " --name {wildcards.sentence:q} --output {output:q} 2> {log:q} || show_error {log:q}"

# Train and average. What a machine can do (nodes, ranks, ZeRO stage, max_tokens) stands in resources,
# which the profiles set: Snakemake reruns nothing when they change.


rule train:
    input:
        config=experiment_file,
        encoded=corpus_path("encoded"),
        buckets=corpus_path("buckets"),
        subwords=corpus_path("subwords"),
        twin=twin,
        again=whole("runs/{run}/train.json", "search/{run}/train.json"),
    output:
        "<results>/runs/{run}/train.json",
    log:
        "<logs>/train/{run}.log",
    benchmark:
        "<benchmarks>/train/{run}.tsv"
    priority: importance
    retries: RETRIES
    conda:
        environment("training")
    threads: 1
    resources:
        **MACHINE.training(),
        nodes=1,
        ranks=1,
        zero_stage=0,
        max_tokens=8192,
    params:
        model=lambda wildcards: section(experiment(wildcards).model),
        training=lambda wildcards: section(experiment(wildcards).training),
        seed=seed_of,
        keep=lambda wildcards: experiment(wildcards).decoding.n_average,
        experiment=lambda wildcards: experiment(wildcards).name,
        corpus=lambda wildcards: corpus(wildcards).name,
        checkpoints=f"{R}/checkpoints",
        scale=SCALE,
    # A scheduler's SIGTERM, before its time limit, is for the step alone: this shell and its tee wait.
    shell:
        "trap : TERM; python -m pipeline.steps.train --encoded {input.encoded:q} --buckets {input.buckets:q}"
        " --subwords {input.subwords:q} --model {params.model:q} --training {params.training:q}"
        " --seed {params.seed} --run {wildcards.run:q} --experiment {params.experiment:q}"
        " --scale {params.scale:q} --corpus {params.corpus:q} --keep {params.keep}"
        " --max-tokens {resources.max_tokens} --nodes {resources.nodes}"
        " --ranks {resources.ranks} --zero-stage {resources.zero_stage}"
        " --on-stop {resources.on_stop} --checkpoints {params.checkpoints:q}"
        " --output {output:q} 2> >(trap '' TERM; exec tee -i {log:q} >&2)"


rule average:
    input:
        train="<results>/runs/{run}/train.json",
        subwords=corpus_path("subwords"),
        code=code("steps/average.py", "training/averaging.py", "model/folder.py"),
        again=whole("runs/{run}/average{n_average}/model"),
    output:
        directory("<average>/model"),
    log:
        "<logs>/average/{run}-{n_average}.log",
    benchmark:
        "<benchmarks>/average/{run}-{n_average}.tsv"
    priority: importance
    group:
        "evaluate"
    conda:
        environment("training")
    resources:
        **MACHINE.evaluation(),
    params:
        corpus=lambda wildcards: section_of(corpus(wildcards), Sides),
    shell:
        "python -m pipeline.steps.average --train {input.train:q} --n-average {wildcards.n_average}"
        " --subwords {input.subwords:q} --corpus {params.corpus:q} --output {output:q} 2> {log:q} || show_error {log:q}"

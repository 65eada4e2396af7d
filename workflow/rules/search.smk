# A search decodes dev and nothing else: its models lie where no rule decodes a test set.


use rule train as train_setting with:
    output:
        "<results>/search/{run}/train.json",
    log:
        "<logs>/train_setting/{run}.log",
    benchmark:
        "<benchmarks>/train_setting/{run}.tsv"
    wildcard_constraints:
        run="|".join(SEARCHED) or "(?!)",


use rule average as average_setting with:
    input:
        train="<results>/search/{run}/train.json",
        subwords=corpus_path("subwords"),
        code=code("steps/average.py", "training/averaging.py", "model/folder.py"),
        again=whole("search/{run}/average{n_average}/model"),
    output:
        directory("<results>/search/{run}/average{n_average}/model"),
    log:
        "<logs>/average_setting/{run}-{n_average}.log",
    benchmark:
        "<benchmarks>/average_setting/{run}-{n_average}.tsv"
    wildcard_constraints:
        run="|".join(SEARCHED) or "(?!)",


use rule decode as decode_dev with:
    input:
        model=searched_model,
        text=searched_text,
        code=code("steps/decode.py", "inference/beam.py", "inference/translator.py"),
    output:
        hypotheses="<results>/search/{search}/{setting}/{split}/hypotheses.txt",
        report="<results>/search/{search}/{setting}/{split}/decode.json",
    log:
        "<logs>/decode_dev/{search}-{setting}-{split}.log",
    benchmark:
        "<benchmarks>/decode_dev/{search}-{setting}-{split}.tsv"
    wildcard_constraints:
        search="|".join(PROJECT.searches) or "(?!)",
        setting=r"\d+-\d+",
        split="dev",
    priority: 0
    params:
        decoding=lambda wildcards: section(searched(wildcards)[1]),
        source="words",
        test_set=lambda wildcards: searched_corpus(wildcards).test_sets["dev"],


use rule score as score_dev with:
    input:
        hypotheses="<results>/search/{search}/{setting}/{split}/hypotheses.txt",
        decode="<results>/search/{search}/{setting}/{split}/decode.json",
        text=searched_text,
        code=code("steps/score.py", "evaluation"),
    output:
        scores="<results>/search/{search}/{setting}/{split}/scores.json",
        statistics="<results>/search/{search}/{setting}/{split}/statistics.npz",
    log:
        "<logs>/score_dev/{search}-{setting}-{split}.log",
    benchmark:
        "<benchmarks>/score_dev/{search}-{setting}-{split}.tsv"
    wildcard_constraints:
        search="|".join(PROJECT.searches) or "(?!)",
        setting=r"\d+-\d+",
        split="dev",
    priority: 0
    params:
        kind="parsing",
        languages="words-trees",
        reference="trees",
        test_set=lambda wildcards: searched_corpus(wildcards).test_sets["dev"],


rule search:
    input:
        scores=searched_scores,
        runs=searched_runs,
        code=code("steps/search.py", "results/search.py"),
    output:
        multiext("<results>/search/{search}", ".md", ".csv", ".tex", ".html"),
    log:
        "<logs>/search/{search}.log",
    benchmark:
        "<benchmarks>/search/{search}.tsv"
    wildcard_constraints:
        search="|".join(PROJECT.searches) or "(?!)",
    localrule: True
    conda:
        environment("results")
    params:
        title=lambda wildcards: PROJECT.searches[wildcards.search].title,
        experiment=lambda wildcards: PROJECT.searches[wildcards.search].experiment,
        settings=lambda wildcards: json.dumps(
            PROJECT.searches[wildcards.search].settings()
        ),
        prefix=without_suffix,
    shell:
        "python -m pipeline.steps.search --search {wildcards.search:q} --title {params.title:q}"
        " --experiment {params.experiment:q} --settings {params.settings:q}"
        " --scores {input.scores:q} --runs {input.runs:q} --output {params.prefix:q}"
        " 2> {log:q} || show_error {log:q}"


for name in PROJECT.searches:

    rule:
        name:
            f"search_{name}"
        input:
            f"{R}/search/{name}.md",
        localrule: True

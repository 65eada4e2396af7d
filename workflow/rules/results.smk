# Tables, figures and the report; and targets by name: an experiment, one stage of it.


rule layer_times:
    input:
        code=code("steps/layer_times.py", "inference/layer_times.py"),
    output:
        R + "/layer_times.json",
    log:
        R + "/logs/layer_times/layer_times.log",
    benchmark:
        R + "/benchmarks/layer_times/layer_times.tsv"
    conda:
        "../../envs/training.yaml"
    shell:
        "python -m pipeline.steps.layer_times --output {output:q} 2> {log:q}"


rule table1:
    input:
        times=R + "/layer_times.json",
        paper="config/paper/table1.yaml",
        code=code("steps/table1.py", "results/layers.py"),
    output:
        multiext(R + "/tables/table1", ".md", ".csv", ".tex", ".html"),
    log:
        R + "/logs/table1/table1.log",
    benchmark:
        R + "/benchmarks/table1/table1.tsv"
    localrule: True
    conda:
        "../../envs/results.yaml"
    params:
        scale=SCALE,
        prefix=R + "/tables/table1",
    shell:
        "python -m pipeline.steps.table1 --times {input.times:q} --paper {input.paper:q}"
        " --scale {params.scale:q} --output {params.prefix:q} 2> {log:q}"


rule table2:
    input:
        **table_inputs("table2"),
        paper="config/paper/table2.yaml",
        devices="config/devices.yaml",
        code=code("steps/table2.py", "results/tables.py"),
    output:
        multiext(R + "/tables/table2", ".md", ".csv", ".tex", ".html"),
    log:
        R + "/logs/table2/table2.log",
    benchmark:
        R + "/benchmarks/table2/table2.tsv"
    localrule: True
    conda:
        "../../envs/results.yaml"
    params:
        scale=SCALE,
        reasons=reasons(),
        prefix=R + "/tables/table2",
    shell:
        "python -m pipeline.steps.table2 --runs {input.runs:q} --scores {input.scores:q}"
        " --perplexities {input.perplexities:q} --paper {input.paper:q}"
        " --devices {input.devices:q} --scale {params.scale:q} --reasons {params.reasons:q}"
        " --output {params.prefix:q} 2> {log:q}"


rule table3:
    input:
        **table_inputs("table3"),
        paper="config/paper/table3.yaml",
        devices="config/devices.yaml",
        code=code("steps/table3.py", "results/tables.py"),
    output:
        multiext(R + "/tables/table3", ".md", ".csv", ".tex", ".html"),
    log:
        R + "/logs/table3/table3.log",
    benchmark:
        R + "/benchmarks/table3/table3.tsv"
    localrule: True
    conda:
        "../../envs/results.yaml"
    params:
        scale=SCALE,
        reasons=reasons(),
        prefix=R + "/tables/table3",
    shell:
        "python -m pipeline.steps.table3 --runs {input.runs:q} --scores {input.scores:q}"
        " --perplexities {input.perplexities:q} --paper {input.paper:q}"
        " --devices {input.devices:q} --scale {params.scale:q} --reasons {params.reasons:q}"
        " --output {params.prefix:q} 2> {log:q}"


rule table4:
    input:
        **table_inputs("table4"),
        paper="config/paper/table4.yaml",
        devices="config/devices.yaml",
        code=code("steps/table4.py", "results/tables.py"),
    output:
        multiext(R + "/tables/table4", ".md", ".csv", ".tex", ".html"),
    log:
        R + "/logs/table4/table4.log",
    benchmark:
        R + "/benchmarks/table4/table4.tsv"
    localrule: True
    conda:
        "../../envs/results.yaml"
    params:
        scale=SCALE,
        reasons=reasons(),
        prefix=R + "/tables/table4",
    shell:
        "python -m pipeline.steps.table4 --runs {input.runs:q} --scores {input.scores:q}"
        " --perplexities {input.perplexities:q} --paper {input.paper:q}"
        " --devices {input.devices:q} --scale {params.scale:q} --reasons {params.reasons:q}"
        " --output {params.prefix:q} 2> {log:q}"


rule figures:
    input:
        **figure_inputs(),
        times=R + "/layer_times.json",
        devices="config/devices.yaml",
        paper=expand("config/paper/{table}.yaml", table=TABLES),
        code=code("steps/figures.py", "results/figures.py"),
    output:
        R + "/figures/figures.json",
    log:
        R + "/logs/figures/figures.log",
    benchmark:
        R + "/benchmarks/figures/figures.tsv"
    conda:
        "../../envs/results.yaml"
    params:
        scale=SCALE,
        corpora=R + "/corpora",
        folder=R + "/figures",
    shell:
        "python -m pipeline.steps.figures --scale {params.scale:q} --runs {input.runs:q}"
        " --scores {input.scores:q} --perplexities {input.perplexities:q} --times {input.times:q}"
        " --corpora {params.corpora:q} --devices {input.devices:q} --output {params.folder:q} 2> {log:q}"


for name in PROJECT.experiments:

    rule:
        name:
            name
        input:
            stage(name, "scores.json"),
        localrule: True

    rule:
        name:
            f"train_{name}"
        input:
            trainings(evaluations_of(name)),
        localrule: True

    rule:
        name:
            f"decode_{name}"
        input:
            stage(name, "hypotheses.txt"),
        localrule: True

# Tables, figures and the report; and targets by name: an experiment, one stage of it.
# What is wrapped in report(...) also stands in Snakemake's own report: snakemake --report FILE.html


report: "../report/workflow.rst"


rule layer_times:
    input:
        code=code("steps/layer_times.py", "inference/layer_times.py"),
    output:
        "<results>/layer_times.json",
    log:
        "<logs>/layer_times/layer_times.log",
    benchmark:
        "<benchmarks>/layer_times/layer_times.tsv"
    conda:
        environment("training")
    shell:
        "python -m pipeline.steps.layer_times --output {output:q} 2> {log:q} || show_error {log:q}"


rule table1:
    input:
        times="<results>/layer_times.json",
        paper=config_file("paper/table1.yaml"),
        code=code("steps/table1.py", "results"),
    output:
        multiext("<results>/tables/table1", ".md", ".csv", ".tex"),
        report(
            "<results>/tables/table1.html",
            caption="../report/table1.rst",
            category="Tables",
            labels={"table": "1"},
        ),
    log:
        "<logs>/table1/table1.log",
    benchmark:
        "<benchmarks>/table1/table1.tsv"
    priority: 50
    localrule: True
    conda:
        environment("results")
    params:
        scale=SCALE,
        prefix=without_suffix,
    shell:
        "python -m pipeline.steps.table1 --times {input.times:q} --paper {input.paper:q}"
        " --scale {params.scale:q} --output {params.prefix:q} 2> {log:q} || show_error {log:q}"


rule table2:
    input:
        **table_inputs("table2"),
        statistics=[f"{f}/statistics.npz" for f in evaluations("table2")],
        paper=config_file("paper/table2.yaml"),
        devices=config_file("devices.yaml"),
        code=code("steps/table2.py", "results"),
    output:
        multiext("<results>/tables/table2", ".md", ".csv", ".tex"),
        report(
            "<results>/tables/table2.html",
            caption="../report/table2.rst",
            category="Tables",
            labels={"table": "2"},
        ),
    log:
        "<logs>/table2/table2.log",
    benchmark:
        "<benchmarks>/table2/table2.tsv"
    priority: 50
    localrule: True
    conda:
        environment("results")
    params:
        scale=SCALE,
        reasons=reasons(),
        prefix=without_suffix,
    shell:
        "python -m pipeline.steps.table2 --runs {input.runs:q} --scores {input.scores:q}"
        " --perplexities {input.perplexities:q} --paper {input.paper:q}"
        " --devices {input.devices:q} --scale {params.scale:q} --reasons {params.reasons:q}"
        " --output {params.prefix:q} 2> {log:q} || show_error {log:q}"


rule table3:
    input:
        **table_inputs("table3"),
        statistics=[f"{f}/statistics.npz" for f in evaluations("table3")],
        paper=config_file("paper/table3.yaml"),
        devices=config_file("devices.yaml"),
        code=code("steps/table3.py", "results"),
    output:
        multiext("<results>/tables/table3", ".md", ".csv", ".tex"),
        report(
            "<results>/tables/table3.html",
            caption="../report/table3.rst",
            category="Tables",
            labels={"table": "3"},
        ),
    log:
        "<logs>/table3/table3.log",
    benchmark:
        "<benchmarks>/table3/table3.tsv"
    priority: 50
    localrule: True
    conda:
        environment("results")
    params:
        scale=SCALE,
        reasons=reasons(),
        prefix=without_suffix,
    shell:
        "python -m pipeline.steps.table3 --runs {input.runs:q} --scores {input.scores:q}"
        " --perplexities {input.perplexities:q} --paper {input.paper:q}"
        " --devices {input.devices:q} --scale {params.scale:q} --reasons {params.reasons:q}"
        " --output {params.prefix:q} 2> {log:q} || show_error {log:q}"


rule table4:
    input:
        **table_inputs("table4"),
        statistics=[f"{f}/statistics.npz" for f in evaluations("table4")],
        paper=config_file("paper/table4.yaml"),
        devices=config_file("devices.yaml"),
        code=code("steps/table4.py", "results"),
    output:
        multiext("<results>/tables/table4", ".md", ".csv", ".tex"),
        report(
            "<results>/tables/table4.html",
            caption="../report/table4.rst",
            category="Tables",
            labels={"table": "4"},
        ),
    log:
        "<logs>/table4/table4.log",
    benchmark:
        "<benchmarks>/table4/table4.tsv"
    priority: 50
    localrule: True
    conda:
        environment("results")
    params:
        scale=SCALE,
        reasons=reasons(),
        prefix=without_suffix,
    shell:
        "python -m pipeline.steps.table4 --runs {input.runs:q} --scores {input.scores:q}"
        " --perplexities {input.perplexities:q} --paper {input.paper:q}"
        " --devices {input.devices:q} --scale {params.scale:q} --reasons {params.reasons:q}"
        " --output {params.prefix:q} 2> {log:q} || show_error {log:q}"


rule figures:
    input:
        **figure_inputs(),
        texts=expand("<results>/corpora/{corpus}/text", corpus=PROJECT.corpora),
        times="<results>/layer_times.json",
        devices=config_file("devices.yaml"),
        paper=[config_file(f"paper/{table}.yaml") for table in TABLES],
        code=code("steps/figures.py", "results"),
        again=whole("figures"),
    output:
        report(
            directory("<results>/figures"),
            patterns=["{name}.svg"],
            caption="../report/figures.rst",
            category="Figures",
            labels={"figure": "{name}"},
        ),
    log:
        "<logs>/figures/figures.log",
    benchmark:
        "<benchmarks>/figures/figures.tsv"
    conda:
        environment("results")
    params:
        scale=SCALE,
        corpora=corpora_of_input,
        paper=lambda wildcards: str(CONFIG / "paper"),
    shell:
        "python -m pipeline.steps.figures --scale {params.scale:q} --runs {input.runs:q}"
        " --scores {input.scores:q} --perplexities {input.perplexities:q} --times {input.times:q}"
        " --attention {input.attention:q} --corpora {params.corpora:q} --devices {input.devices:q}"
        " --paper {params.paper:q} --output {output:q} 2> {log:q} || show_error {log:q}"


rule report:
    input:
        **{
            name: files
            for name, files in figure_inputs().items()
            if name in ("runs", "scores")
        },
        tables=expand("<results>/tables/{table}.html", table=TABLES),
        figures="<results>/figures",
        texts=expand("<results>/corpora/{corpus}/text", corpus=PROJECT.corpora),
        cards=expand("<results>/corpora/{corpus}/card", corpus=PROJECT.corpora),
        deviations=input_path(CODE, "docs/deviations.md"),
        devices=config_file("devices.yaml"),
        code=code("steps/report.py", "results"),
    output:
        report(
            "<results>/report.html",
            caption="../report/report.rst",
            category="Report",
        ),
    log:
        "<logs>/report/report.log",
    benchmark:
        "<benchmarks>/report/report.tsv"
    localrule: True
    conda:
        environment("results")
    params:
        scale=SCALE,
        corpora=corpora_of_input,
        cards=[f"{R}/corpora/{name}/card/card.md" for name in PROJECT.corpora],
    shell:
        "python -m pipeline.steps.report --scale {params.scale:q} --runs {input.runs:q}"
        " --scores {input.scores:q} --tables {input.tables:q} --figures {input.figures:q}/figures.json"
        " --cards {params.cards:q} --corpora {params.corpora:q} --deviations {input.deviations:q}"
        " --devices {input.devices:q} --output {output:q} 2> {log:q} || show_error {log:q}"


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

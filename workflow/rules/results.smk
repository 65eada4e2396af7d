# Tables, figures, the report, and targets by name: tables, experiments, one stage of an experiment.


rule table:
    input:
        unpack(lambda wildcards: table_inputs(wildcards.table)),
        paper="config/paper/{table}.yaml",
        code=code("results/tables.py"),
    output:
        multiext(R + "/tables/{table}", ".md", ".csv", ".tex", ".html"),
    wildcard_constraints:
        table="table[234]",
    params:
        scale=SCALE,
        prefix=R + "/tables/{table}",
    log:
        R + "/logs/{table}/{table}.log",
    benchmark:
        R + "/benchmarks/{table}/{table}.tsv"
    conda:
        "../../envs/results.yaml"
    localrule: True
    shell:
        "python -m pipeline.steps.{wildcards.table} --runs {input.runs:q} --scores {input.scores:q}"
        " --perplexities {input.perplexities:q}"
        " --paper {input.paper:q} --scale {params.scale:q} --output {params.prefix:q} 2> {log:q}"

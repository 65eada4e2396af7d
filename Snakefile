# Every result of "Attention Is All You Need", from raw text to tables: snakemake --cores all
from snakemake.utils import min_version

min_version("9.20")


include: "workflow/rules/common.smk"
include: "workflow/rules/inputs_common.smk"
include: "workflow/rules/corpora.smk"
include: "workflow/rules/training.smk"
include: "workflow/rules/evaluation.smk"
include: "workflow/rules/parsing_common.smk"
include: "workflow/rules/self_training.smk"
include: "workflow/rules/search.smk"
include: "workflow/rules/results.smk"


rule all:
    default_target: True
    input:
        deliverables(),
    localrule: True


onsuccess:
    show_tables()
    show_warnings()


onerror:
    show_warnings()


onstart:
    refuse_impossible()

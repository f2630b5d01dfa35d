READERS_USED = sorted(
    {
        READERS[published.reader]
        for published in [*STUDY.benchmarks.values(), *STUDY.train_sets.values()]
        if isinstance(published, PublishedSet)
    }
)
PRETRAINED = [
    name
    for name, model in STUDY.models.items()
    if model.kind == "pretrained-from-scratch"
]
STARTED = [name for name, model in STUDY.models.items() if model.supervised_start]
FETCHED = [name for name in STUDY.models if name not in PRETRAINED + STARTED]


rule data:
    output:
        train=FILES.train_problems,
        eval=FILES.eval_problems,
    log:
        FILES.log_of("data"),
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        config=lambda w: [settings("train_data"), settings("eval_data")],
        code=fingerprint("stages.data", *READERS_USED),
    shell:
        "ict lease -- ict data --study {params.study:q} --train {output.train:q} --eval {output.eval:q} &> {log:q}"


rule contamination:
    input:
        train=FILES.train_problems,
        eval=FILES.eval_problems,
    output:
        counts=FILES.frame("contamination"),
        pairs=FILES.frame("near_duplicates"),
    log:
        FILES.log_of("contamination"),
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        config=lambda w: [
            settings(stage) for stage in ("train_data", "eval_data", "grade")
        ],
        code=fingerprint("stages.contamination"),
    shell:
        "ict contamination --study {params.study:q} --train {input.train:q} --eval {input.eval:q}"
        " --counts {output.counts:q} --pairs {output.pairs:q} &> {log:q}"


rule pretrain:
    input:
        eval=FILES.eval_problems,
    output:
        directory(FILES.base_model("{model}", "{seed}")),
    log:
        FILES.log_of("pretrain", OF_BASE),
    wildcard_constraints:
        model=one_of(PRETRAINED),
    priority: 1  # all base models before other jobs: the server that forks a kind of job then starts once
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        config=lambda w: settings("base", Cell(w.model, BASE_VARIANT, int(w.seed))),
        code=fingerprint("stages.pretrain"),
    shell:
        "ict lease -- ict pretrain --study {params.study:q} --model {wildcards.model:q} --seed {wildcards.seed:q}"
        " --eval {input.eval:q}"
        " --out {output:q} &> {log:q}"


rule fetch_model:
    input:
        local_model,
    output:
        directory(FILES.base_model("{model}")),
    log:
        FILES.log_of("fetch_model", cell_folder("{model}", BASE_VARIANT, 0)),
    wildcard_constraints:
        model=one_of(FETCHED),
    conda:
        "../../environment.yml"
    params:  # without `code`: an edit of the check must not download the weights again
        study=STUDY_FILE,
        config=lambda w: settings("base", Cell(w.model, BASE_VARIANT, 0)),
    shell:
        "ict lease -- ict fetch-model --study {params.study:q} --model {wildcards.model:q} --out {output:q} &> {log:q}"


use rule fetch_model as fetch_model_to_start with:
    output:
        directory(FILES.fetched_model("{model}")),
    wildcard_constraints:
        model=one_of(STARTED),


rule solutions:
    output:
        FILES.solutions,
    log:
        FILES.log_of("solutions"),
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        config=lambda w: settings("train_data"),
        code=fingerprint("stages.solutions", *READERS_USED),
    shell:
        "ict lease -- ict solutions --study {params.study:q} --out {output:q} &> {log:q}"


rule supervised_start:
    input:
        checkpoint=FILES.fetched_model("{model}"),
        solutions=FILES.solutions,
    output:
        directory(FILES.base_model("{model}")),
    log:
        FILES.log_of("supervised_start", cell_folder("{model}", BASE_VARIANT, 0)),
    wildcard_constraints:
        model=one_of(STARTED),
    conda:
        "../../environment.yml"
    threads: STUDY.training.threads
    resources:
        **needs("start"),
    params:
        study=STUDY_FILE,
        config=lambda w: settings("supervised_start", Cell(w.model, BASE_VARIANT, 0)),
        code=fingerprint("stages.supervised_start"),
    shell:
        "ict lease --gpus {resources.gpu:q} -- ict supervised-start --study {params.study:q} --model {wildcards.model:q}"
        " --checkpoint {input.checkpoint:q} --solutions {input.solutions:q} --out {output:q} &> {log:q}"

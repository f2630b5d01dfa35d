rule within_reach:
    input:
        base=FILES.base_model("{model}", "{seed}"),
        problems=FILES.train_problems,
    output:
        FILES.within_reach("{model}", "{seed}"),
    log:
        FILES.log_of("within_reach", OF_BASE),
    conda:
        "../../environment.yml"
    threads: STUDY.evaluation.threads
    resources:
        **needs("generate"),
    params:
        study=STUDY_FILE,
        cache=COMPLETIONS_CACHE.as_posix(),
        config=lambda w: [
            settings("within_reach", Cell(w.model, BASE_VARIANT, int(w.seed))),
            settings("grade"),
        ],
        code=fingerprint("stages.within_reach"),
    shell:
        "ict lease --gpus {resources.gpu:q} --"
        " ict within-reach --study {params.study:q} --model {wildcards.model:q} --seed {wildcards.seed:q}"
        " --checkpoint {input.base:q} --problems {input.problems:q} --cache {params.cache:q} --out {output:q} &> {log:q}"


rule train:
    input:
        base=base_of,
        problems=lambda w: STUDY.training_problems(FILES, cell_of(w)),
        rate=chosen_rate,
        twin=lambda w: trainings(STUDY.twins(cell_of(w))),
        held_out=held_out,
    output:
        directory(CELL.train),
    log:
        FILES.log_of("train", OF_CELL),
    conda:
        "../../environment.yml"
    threads: lambda w: STUDY.training.threads * job.processes(STUDY, w.model)
    resources:
        **needs("train"),
    params:
        launch=lambda w: job.launch(STUDY_FILE, STUDY, w.model),
        study=STUDY_FILE,
        inputs=input_options,
        trackers=lambda w: str(FILES.trackers(cell_of(w).folder)),
        config=train_settings,
        code=lambda w: fingerprint("stages.train", selector(w.variant)),
    shell:
        "ict lease --gpus {resources.gpu:q} --"
        " {params.launch:q} train --study {params.study:q} --model {wildcards.model:q} --variant {wildcards.variant:q}"
        " --seed {wildcards.seed:q} --base {input.base:q} --problems {input.problems:q} --out {output:q}"
        " --trackers {params.trackers:q} {params.inputs:q} &> {log:q}"


# Chooses a variant's learning rate from trainings of its own, with seeds and base models that nothing else uses. A
# checkpoint, as the result of one round says which trainings the next round needs.
checkpoint tune_round:
    input:
        before=round_before,
        tried=tried,
    output:
        FILES.chosen_rate("{model}", "{variant}", "{number}"),
    log:
        FILES.log_of("tune", "{model}/{variant}-{number}"),
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        results=folder_of_output(above=2),
        cells=cells_folder(STUDY.name),
        before=before_option,
        config=lambda w: settings("tune"),
        code=fingerprint("evidence.tuning"),
    shell:
        "ict tune --study {params.study:q} --model {wildcards.model:q} --variant {wildcards.variant:q}"
        " --results {params.results:q} --cells {params.cells:q} {params.before:q} --out {output:q} &> {log:q}"


use rule tune_round as tune with:
    output:
        FILES.chosen_rate("{model}", "{variant}"),
    log:
        FILES.log_of("tune", "{model}/{variant}"),


# Writes the chosen rates for other studies: `snakemake rates`, a separate target that is not part of `all`.
rule rates:
    input:
        choices=RATES,
        bases=models_of(
            run_here(STUDY.base_cells([*STUDY.tuning_cells(), *STUDY.later_cells()]))
        ),
    output:
        FILES.rate_study.rates,
        FILES.rate_study.rewards,
        FILES.rate_study.manifest,
    log:
        FILES.log_of("rates"),
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        results=folder_of_output(above=1),
        cells=cells_folder(STUDY.name),
        config=lambda w: [
            settings("tune"),
            *(json.dumps(STUDY.tuned_config(*arm)) for arm in STUDY.tuned_arms()),
        ],
        code=fingerprint("stages.rates"),
    shell:
        "ict rates --study {params.study:q} --results {params.results:q} --cells {params.cells:q} &> {log:q}"

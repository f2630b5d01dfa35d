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
        gpu=needs("generate", "gpu"),
        mem_mb=needs("generate", "mem_mb"),
        runtime=needs("generate", "runtime"),
    params:
        study=STUDY_FILE,
        cache=COMPLETIONS_CACHE.as_posix(),
        config=lambda w: [
            settings("within_reach", Cell(w.model, BASE_VARIANT, int(w.seed))),
            settings("grade"),
        ],
        code=fingerprint("stages.within_reach"),
    shell:
        "ict lease --gpus {resources.gpu} --"
        " ict within-reach --study {params.study} --model {wildcards.model} --seed {wildcards.seed}"
        " --checkpoint {input.base} --problems {input.problems} --cache {params.cache} --out {output} &> {log}"


rule train:
    input:
        base=base_of,
        problems=problems_of,
        rate=chosen_rate,
        twin=at_shared_rate,
    output:
        directory(CELL.train),
    log:
        FILES.log_of("train", OF_CELL),
    conda:
        "../../environment.yml"
    threads: lambda w: STUDY.training.threads * processes(w)
    resources:
        gpu=needs("train", "gpu"),
        mem_mb=needs("train", "mem_mb"),
        runtime=needs("train", "runtime"),
    params:
        launch=launch,
        study=STUDY_FILE,
        rate=rate_options,
        trackers=lambda w: str(FILES.trackers(cell_of(w).folder)),
        config=lambda w: settings("train", cell_of(w)),
        code=lambda w: fingerprint("stages.train", selector(w.variant)),
    shell:
        "ict lease --gpus {resources.gpu} --"
        " {params.launch} train --study {params.study} --model {wildcards.model} --variant {wildcards.variant}"
        " --seed {wildcards.seed} --base {input.base} --problems {input.problems} --out {output}"
        " --trackers {params.trackers} {params.rate} &> {log}"


# The learning rate of a variant, by trainings of its own whose seeds and base models nothing else has.
rule tune:
    input:
        tried,
    output:
        FILES.chosen_rate("{model}", "{variant}"),
    log:
        FILES.log_of("tune", "{model}/{variant}"),
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        results=study_of_choice,
        cells=cells_folder(STUDY.name),
        config=lambda w: settings("tune"),
        code=fingerprint("stages.tune"),
    shell:
        "ict tune --study {params.study} --model {wildcards.model} --variant {wildcards.variant}"
        " --results {params.results} --cells {params.cells} --out {output} &> {log}"

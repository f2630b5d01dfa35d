GRADERS = min(8, math.ceil(STUDY.answers() / ANSWERS_PER_GRADER))
GRADING_MINUTES = 60 + STUDY.answers() // 600  # 0.1 s an answer


rule generate:
    input:
        trained=trained,
        problems=FILES.eval_problems,
    output:
        completions=CELL.completions,
        manifest=CELL.generation,
    log:
        FILES.log_of("generate", OF_CELL),
    conda:
        "../../environment.yml"
    threads: STUDY.evaluation.threads
    resources:
        **needs("generate"),
    params:
        study=STUDY_FILE,
        checkpoint=model_folder,
        cache=COMPLETIONS_CACHE.as_posix(),
        config=lambda w: settings("generate", cell_of(w)),
        code=fingerprint("stages.generate"),
    shell:
        "ict lease --gpus {resources.gpu:q} --"
        " ict generate --study {params.study:q} --model {wildcards.model:q} --variant {wildcards.variant:q}"
        " --seed {wildcards.seed:q} --checkpoint {params.checkpoint:q} --problems {input.problems:q}"
        " --cache {params.cache:q} --out {output.completions:q} --manifest {output.manifest:q} &> {log:q}"


rule grade:
    input:
        completions=CELL.completions,
        problems=FILES.eval_problems,
    output:
        grades=CELL.grades,
        manifest=CELL.grading,
    log:
        FILES.log_of("grade", OF_CELL),
    conda:
        "../../environment.yml"
    threads: GRADERS
    resources:
        mem_mb=grading_memory,
        runtime=GRADING_MINUTES,
    params:
        study=STUDY_FILE,
        config=lambda w: settings("grade"),
        code=fingerprint("stages.grade"),
    shell:
        "ict lease -- ict grade --study {params.study:q} --completions {input.completions:q} --problems {input.problems:q}"
        " --workers {threads:q} --out {output.grades:q} --manifest {output.manifest:q} &> {log:q}"


rule collect:
    input:
        base=models_of(run_here(BASES)),
        training=trainings(TRAINED),
        rates=RATES,
        generation=[FILES.cell(c.folder).generation for c in run_here(EVALUATED)],
        grades=[FILES.cell(c.folder).grades for c in run_here(EVALUATED)],
        grading=[FILES.cell(c.folder).grading for c in run_here(EVALUATED)],
        problems=[FILES.train_problems, FILES.eval_problems],
        cells=STORED_CELLS.manifests,
    output:
        curve_in(FILES),
        scores=FILES.frame("scores"),
        shared_rate_scores=FILES.frame("shared_rate_scores"),
        tuning=FILES.frame("tuning"),
        log=FILES.frame("log"),
        tokens=FILES.frame("tokens"),
        compute=FILES.frame("compute"),
        manifest=FILES.manifest,
    log:
        FILES.log_of("collect"),
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        results=folder_of_output(),
        cells=cells_folder(STUDY.name),
        declaring=declaring,
        code=fingerprint("evidence.collect"),
    shell:
        "ict collect --study {params.study:q} --results {params.results:q} --cells {params.cells:q} &> {log:q}"


rule shadow:
    input:
        tokens=FILES.frame("tokens"),
    output:
        shadow=FILES.frame("shadow"),
        overlap=FILES.frame("overlap"),
    log:
        FILES.log_of("shadow"),
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        config=lambda w: settings("shadow"),
        order=list(STUDY.methods),  # a rule of two variants has the name of the first
        code=fingerprint("stages.shadow_study", *map(selector, STUDY.methods)),
    shell:
        "ict shadow-study --study {params.study:q} --tokens {input.tokens:q}"
        " --shadow {output.shadow:q} --overlap {output.overlap:q} &> {log:q}"


rule study_settings:
    output:
        FILES.settings,
    log:
        FILES.log_of("settings"),
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        config=lambda w: settings("evidence"),
    shell:
        "ict settings --study {params.study:q} --out {output:q} &> {log:q}"

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
        gpu=needs("generate", "gpu"),
        mem_mb=needs("generate", "mem_mb"),
        runtime=needs("generate", "runtime"),
    params:
        study=STUDY_FILE,
        checkpoint=model_folder,
        cache=COMPLETIONS_CACHE.as_posix(),
        config=lambda w: settings("generate", cell_of(w)),
        code=fingerprint("stages.generate"),
    shell:
        "ict lease --gpus {resources.gpu} --"
        " ict generate --study {params.study} --model {wildcards.model} --variant {wildcards.variant}"
        " --seed {wildcards.seed} --checkpoint {params.checkpoint} --problems {input.problems}"
        " --cache {params.cache} --out {output.completions} --manifest {output.manifest} &> {log}"


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
        "ict lease -- ict grade --study {params.study} --completions {input.completions} --problems {input.problems}"
        " --workers {threads} --out {output.grades} --manifest {output.manifest} &> {log}"


rule collect:
    input:
        base=[FILES.base_model(base.model, base.seed) for base in run_here(BASES)],
        training=trainings(TRAINED),
        rates=RATES,
        generation=[FILES.cell(c.folder).generation for c in run_here(EVALUATED)],
        grades=[FILES.cell(c.folder).grades for c in run_here(EVALUATED)],
        grading=[FILES.cell(c.folder).grading for c in run_here(EVALUATED)],
        problems=[FILES.train_problems, FILES.eval_problems],
        cells=STORED_CELLS.manifests,
    output:
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
        results=parent_of_output,
        cells=cells_folder(STUDY.name),
        code=fingerprint("evidence._collect"),
    shell:
        "ict collect --study {params.study} --results {params.results} --cells {params.cells} &> {log}"


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
        code=fingerprint("stages.shadow", *map(selector, STUDY.methods)),
    shell:
        "ict shadow-study --study {params.study} --tokens {input.tokens}"
        " --shadow {output.shadow} --overlap {output.overlap} &> {log}"


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
        "ict settings --study {params.study} --out {output} &> {log}"


# The partial-prompt completion probe of the base models: targets of their own, as they are not part of `all`.
rule completion_probe:
    input:
        base=first_base,
        problems=FILES.eval_problems,
    output:
        FILES.completion_probe("{model}"),
    log:
        FILES.log_of("completion_probe", "{model}"),
    conda:
        "../../environment.yml"
    threads: STUDY.evaluation.threads
    resources:
        gpu=needs("generate", "gpu"),
        mem_mb=needs("generate", "mem_mb"),
        runtime=needs("generate", "runtime"),
    params:
        study=STUDY_FILE,
        config=lambda w: [
            settings("eval_data"),
            settings("generate", Cell(w.model, BASE_VARIANT, 0)),
        ],
        code=fingerprint("stages.completion_probe"),
    shell:
        "ict lease --gpus {resources.gpu} --"
        " ict completion-probe --study {params.study} --model {wildcards.model} --checkpoint {input.base}"
        " --problems {input.problems} --out {output} &> {log}"


rule completion_table:
    input:
        [FILES.completion_probe(model) for model in STUDY.models],
    output:
        [FILES.table("completion_probe", kind) for kind in TABLE_KINDS],
    log:
        FILES.log_of("completion_table"),
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        note=STUDY.note,
        results=results_folder,
        code=fingerprint("stages.completion_table"),
    shell:
        "ict completion-table --study {params.study} --results {params.results} &> {log}"

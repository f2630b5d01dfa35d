GRADERS = min(8, math.ceil(STUDY.answers() / ANSWERS_PER_GRADER))
GRADING_MINUTES = 60 + STUDY.answers() // 600  # 0.1 s an answer


rule generate:
    input:
        trained=trained,
        problems=f"{RESULTS}/data/eval.parquet",
    output:
        completions=f"{RESULTS}/{{model}}/{{variant}}/seed-{{seed}}/completions.parquet",
        manifest=f"{RESULTS}/{{model}}/{{variant}}/seed-{{seed}}/generation.json",
    log:
        f"{RESULTS}/logs/generate/{{model}}/{{variant}}/seed-{{seed}}.log",
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
        cache=COMPLETIONS_CACHE,
        config=lambda w: settings("generate", cell_of(w)),
        code=code(
            "evaluation", "benchmarks/templates.py", "pretrained.py", "vllm_process.py"
        ),
    shell:
        "ict lease --gpus {resources.gpu} --"
        " ict generate --study {params.study} --model {wildcards.model} --variant {wildcards.variant}"
        " --seed {wildcards.seed} --checkpoint {params.checkpoint} --problems {input.problems}"
        " --cache {params.cache} --out {output.completions} --manifest {output.manifest} &> {log}"


rule grade:
    input:
        completions=f"{RESULTS}/{{model}}/{{variant}}/seed-{{seed}}/completions.parquet",
        problems=f"{RESULTS}/data/eval.parquet",
    output:
        grades=f"{RESULTS}/{{model}}/{{variant}}/seed-{{seed}}/grades.parquet",
        manifest=f"{RESULTS}/{{model}}/{{variant}}/seed-{{seed}}/grading.json",
    log:
        f"{RESULTS}/logs/grade/{{model}}/{{variant}}/seed-{{seed}}.log",
    conda:
        "../../environment.yml"
    threads: GRADERS
    resources:
        mem_mb=grading_memory,
        runtime=GRADING_MINUTES,
    params:
        study=STUDY_FILE,
        config=lambda w: settings("grade"),
        code=code("grading"),
    shell:
        "ict lease -- ict grade --study {params.study} --completions {input.completions} --problems {input.problems}"
        " --workers {threads} --out {output.grades} --manifest {output.manifest} &> {log}"


rule collect:
    input:
        base=[f"{RESULTS}/{model}/base/model" for model in STUDY.models],
        training=[f"{folder(cell)}/train" for cell in CELLS],
        generation=[f"{folder(cell)}/generation.json" for cell in EVALUATED],
        grades=[f"{folder(cell)}/grades.parquet" for cell in EVALUATED],
        grading=[f"{folder(cell)}/grading.json" for cell in EVALUATED],
    output:
        scores=f"{RESULTS}/scores.parquet",
        log=f"{RESULTS}/train_log.parquet",
        tokens=f"{RESULTS}/tokens.parquet",
        compute=f"{RESULTS}/compute.parquet",
        manifest=f"{RESULTS}/manifest.json",
    log:
        f"{RESULTS}/logs/collect.log",
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        results=parent_of_output,
        code=code("collect.py", "grading/grade.py"),
    shell:
        "ict collect --study {params.study} --results {params.results} &> {log}"


rule shadow:
    input:
        tokens=f"{RESULTS}/tokens.parquet",
    output:
        shadow=f"{RESULTS}/shadow.parquet",
        overlap=f"{RESULTS}/overlap.parquet",
    log:
        f"{RESULTS}/logs/shadow.log",
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        config=lambda w: settings("shadow"),
        code=code("shadow", "selection", "tokens"),
    shell:
        "ict shadow-study --study {params.study} --tokens {input.tokens}"
        " --shadow {output.shadow} --overlap {output.overlap} &> {log}"


rule study_settings:
    output:
        f"{RESULTS}/study.json",
    log:
        f"{RESULTS}/logs/settings.log",
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
        base=f"{RESULTS}/{{model}}/base/model",
        problems=f"{RESULTS}/data/eval.parquet",
    output:
        f"{RESULTS}/{{model}}/base/completion_probe.parquet",
    log:
        f"{RESULTS}/logs/completion_probe/{{model}}.log",
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
        code=code(
            *[
                f"contamination/{name}.py"
                for name in ("completion_probe", "questions")
            ],
            "benchmarks/published/prompts.py",
            "evaluation",
            "pretrained.py",
            "vllm_process.py",
        ),
    shell:
        "ict lease --gpus {resources.gpu} --"
        " ict completion-probe --study {params.study} --model {wildcards.model} --checkpoint {input.base}"
        " --problems {input.problems} --out {output} &> {log}"


rule completion_table:
    input:
        [f"{RESULTS}/{model}/base/completion_probe.parquet" for model in STUDY.models],
    output:
        multiext(f"{RESULTS}/tables/completion_probe.", "csv", "md", "tex", "html"),
    log:
        f"{RESULTS}/logs/completion_table.log",
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        note=STUDY.note,
        results=results_folder,
        code=code("files.py", "tables"),
    shell:
        "ict completion-table --study {params.study} --results {params.results} &> {log}"

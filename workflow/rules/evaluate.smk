rule generate:
    input:
        trained=trained,
        problems=f"{RESULTS}/data/eval.parquet",
    output:
        RESULTS + "/{model}/{variant}/seed-{seed}/completions.parquet",
    params:
        checkpoint=checkpoint,
        config=lambda w: settings("generate", cell_of(w)),
        code=code("evaluation"),
    log:
        RESULTS + "/logs/generate/{model}/{variant}/seed-{seed}.log",
    conda:
        "../../environment.yml"
    shell:
        "ict generate --study {STUDY_FILE} --model {wildcards.model} --variant {wildcards.variant}"
        " --seed {wildcards.seed} --checkpoint {params.checkpoint} --problems {input.problems} --out {output} &> {log}"


rule grade:
    input:
        completions=RESULTS + "/{model}/{variant}/seed-{seed}/completions.parquet",
        problems=f"{RESULTS}/data/eval.parquet",
    output:
        RESULTS + "/{model}/{variant}/seed-{seed}/grades.parquet",
    params:
        config=settings("grade"),
        code=code("grading"),
    log:
        RESULTS + "/logs/grade/{model}/{variant}/seed-{seed}.log",
    conda:
        "../../environment.yml"
    shell:
        "ict grade --study {STUDY_FILE} --completions {input.completions} --problems {input.problems}"
        " --out {output} &> {log}"


rule collect:
    input:
        grades=[f"{folder(cell)}/grades.parquet" for cell in EVALUATED],
        training=[f"{folder(cell)}/train" for cell in CELLS],
    output:
        scores=f"{RESULTS}/scores.parquet",
        log=f"{RESULTS}/train_log.parquet",
    params:
        code=code("grading/grade.py"),
    log:
        f"{RESULTS}/logs/collect.log",
    conda:
        "../../environment.yml"
    shell:
        "ict collect --study {STUDY_FILE} --results {RESULTS} --scores {output.scores} --log {output.log}"
        " &> {log}"

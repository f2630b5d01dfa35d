rule generate:
    input:
        trained=trained,
        problems=f"{RESULTS}/data/eval.parquet",
    output:
        f"{RESULTS}/{{model}}/{{variant}}/seed-{{seed}}/completions.parquet",
    log:
        f"{RESULTS}/logs/generate/{{model}}/{{variant}}/seed-{{seed}}.log",
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        checkpoint=model_folder,
        config=lambda w: settings("generate", cell_of(w)),
        code=code("evaluation"),
    shell:
        "ict generate --study {params.study} --model {wildcards.model} --variant {wildcards.variant}"
        " --seed {wildcards.seed} --checkpoint {params.checkpoint} --problems {input.problems} --out {output} &> {log}"


rule grade:
    input:
        completions=f"{RESULTS}/{{model}}/{{variant}}/seed-{{seed}}/completions.parquet",
        problems=f"{RESULTS}/data/eval.parquet",
    output:
        f"{RESULTS}/{{model}}/{{variant}}/seed-{{seed}}/grades.parquet",
    log:
        f"{RESULTS}/logs/grade/{{model}}/{{variant}}/seed-{{seed}}.log",
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        config=settings("grade"),
        code=code("grading"),
    shell:
        "ict grade --study {params.study} --completions {input.completions} --problems {input.problems}"
        " --out {output} &> {log}"


rule collect:
    input:
        grades=[f"{folder(cell)}/grades.parquet" for cell in EVALUATED],
        training=[f"{folder(cell)}/train" for cell in CELLS],
    output:
        scores=f"{RESULTS}/scores.parquet",
        log=f"{RESULTS}/train_log.parquet",
    log:
        f"{RESULTS}/logs/collect.log",
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        results=lambda w, output: Path(output.scores).parent.as_posix(),
        code=code("grading/grade.py"),
    shell:
        "ict collect --study {params.study} --results {params.results} --scores {output.scores} --log {output.log}"
        " &> {log}"

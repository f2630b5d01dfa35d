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
    params:
        study=STUDY_FILE,
        checkpoint=model_folder,
        config=lambda w: settings("generate", cell_of(w)),
        code=code("evaluation"),
    shell:
        "ict generate --study {params.study} --model {wildcards.model} --variant {wildcards.variant}"
        " --seed {wildcards.seed} --checkpoint {params.checkpoint} --problems {input.problems}"
        " --out {output.completions} --manifest {output.manifest} &> {log}"


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
        config=lambda w: settings("grade"),
        code=code("grading"),
    shell:
        "ict grade --study {params.study} --completions {input.completions} --problems {input.problems}"
        " --out {output} &> {log}"


rule collect:
    input:
        base=[f"{RESULTS}/{model}/base/model" for model in STUDY.models],
        training=[f"{folder(cell)}/train" for cell in CELLS],
        generation=[f"{folder(cell)}/generation.json" for cell in EVALUATED],
        grades=[f"{folder(cell)}/grades.parquet" for cell in EVALUATED],
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

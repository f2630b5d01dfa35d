rule train:
    input:
        base=f"{RESULTS}/{{model}}/base/model",
        problems=f"{RESULTS}/data/train.parquet",
    output:
        directory(f"{RESULTS}/{{model}}/{{variant}}/seed-{{seed}}/train"),
    log:
        f"{RESULTS}/logs/train/{{model}}/{{variant}}/seed-{{seed}}.log",
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        config=lambda w: settings("train", cell_of(w)),
        code=lambda w: code(*TRAINING_CODE, selector_file(w.variant)),
    shell:
        "ict train --study {params.study} --model {wildcards.model} --variant {wildcards.variant}"
        " --seed {wildcards.seed} --base {input.base} --problems {input.problems} --out {output} &> {log}"

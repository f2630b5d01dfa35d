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
    threads: lambda w: STUDY.training.threads * processes(w)
    resources:
        gpu=needs("train", "gpu"),
        mem_mb=needs("train", "mem_mb"),
        runtime=needs("train", "runtime"),
    params:
        launch=launch,
        study=STUDY_FILE,
        config=lambda w: settings("train", cell_of(w)),
        code=lambda w: code(*TRAINING_CODE, selector_file(w.variant)),
    shell:
        "ict lease --gpus {resources.gpu} --"
        " {params.launch} train --study {params.study} --model {wildcards.model} --variant {wildcards.variant}"
        " --seed {wildcards.seed} --base {input.base} --problems {input.problems} --out {output}"
        f" --trackers {RESULTS}/trackers/{{wildcards.model}}/{{wildcards.variant}}/seed-{{wildcards.seed}} &> {{log}}"

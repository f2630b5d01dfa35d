rule train:
    input:
        base=RESULTS + "/{model}/base/model",
        problems=f"{RESULTS}/data/train.parquet",
    output:
        directory(RESULTS + "/{model}/{variant}/seed-{seed}/train"),
    params:
        config=lambda w: settings("train", cell_of(w)),
        code=lambda w: code(*TRAINING_CODE, selector_file(w.variant)),
    log:
        RESULTS + "/logs/train/{model}/{variant}/seed-{seed}.log",
    conda:
        "../../environment.yml"
    shell:
        "ict train --study {STUDY_FILE} --model {wildcards.model} --variant {wildcards.variant}"
        " --seed {wildcards.seed} --base {input.base} --problems {input.problems} --out {output} &> {log}"

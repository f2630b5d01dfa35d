rule data:
    output:
        train=f"{RESULTS}/data/train.parquet",
        eval=f"{RESULTS}/data/eval.parquet",
    params:
        config=[settings("train_data"), settings("eval_data")],
        code=code("benchmarks/mini/arithmetic.py", "benchmarks/mini/problems.py", "benchmarks/mini/corpus.py"),
    log:
        f"{RESULTS}/logs/data.log",
    conda:
        "../../environment.yml"
    shell:
        "ict data --study {STUDY_FILE} --train {output.train} --eval {output.eval} &> {log}"


rule pretrain:
    input:
        eval=f"{RESULTS}/data/eval.parquet",
    output:
        directory(RESULTS + "/{model}/base/model"),
    params:
        config=lambda w: settings("base", Cell(w.model, BASE_VARIANT, 0)),
        code=code("benchmarks", "training/pretrain.py", "training/memory.py", "training/muon.py"),
    log:
        RESULTS + "/logs/pretrain/{model}.log",
    conda:
        "../../environment.yml"
    shell:
        "ict pretrain --study {STUDY_FILE} --model {wildcards.model} --eval {input.eval} --out {output} &> {log}"

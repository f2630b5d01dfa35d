READERS_USED = {
    READERS[published.reader]
    for published in [*STUDY.benchmarks.values(), *STUDY.train_sets.values()]
    if isinstance(published, PublishedSet)
}
PUBLISHED_CODE = [
    f"benchmarks/published/{name}.py"
    for name in ("answers", "check", "item", "load", "prompts")
] + ["grading/boxes.py"]
PRETRAINED = [
    name
    for name, model in STUDY.models.items()
    if model.kind == "pretrained-from-scratch"
]
FETCHED = [name for name in STUDY.models if name not in PRETRAINED]


rule data:
    output:
        train=f"{RESULTS}/data/train.parquet",
        eval=f"{RESULTS}/data/eval.parquet",
    log:
        f"{RESULTS}/logs/data.log",
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        config=lambda w: [settings("train_data"), settings("eval_data")],
        code=code(
            "benchmarks/assemble.py",
            "benchmarks/mini/arithmetic.py",
            "benchmarks/mini/problems.py",
            "benchmarks/mini/corpus.py",
            *(PUBLISHED_CODE if READERS_USED else []),
            *sorted(READERS_USED),
        ),
    shell:
        "ict lease -- ict data --study {params.study} --train {output.train} --eval {output.eval} &> {log}"


rule contamination:
    input:
        train=f"{RESULTS}/data/train.parquet",
        eval=f"{RESULTS}/data/eval.parquet",
    output:
        counts=f"{RESULTS}/contamination.parquet",
        pairs=f"{RESULTS}/near_duplicates.parquet",
    log:
        f"{RESULTS}/logs/contamination.log",
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        config=lambda w: [
            settings(stage) for stage in ("train_data", "eval_data", "grade")
        ],
        code=code(
            *[
                f"contamination/{name}.py"
                for name in ("audit", "overlap", "questions", "text")
            ],
            "benchmarks/published/prompts.py",
            "grading",
        ),
    shell:
        "ict contamination --study {params.study} --train {input.train} --eval {input.eval}"
        " --counts {output.counts} --pairs {output.pairs} &> {log}"


rule pretrain:
    input:
        eval=f"{RESULTS}/data/eval.parquet",
    output:
        directory(f"{RESULTS}/{{model}}/base/model"),
    log:
        f"{RESULTS}/logs/pretrain/{{model}}.log",
    wildcard_constraints:
        model=one_of(PRETRAINED),
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        config=lambda w: settings("base", Cell(w.model, BASE_VARIANT, 0)),
        code=code(
            "benchmarks/mini",
            "training/pretrain.py",
            "training/memory.py",
            "training/muon.py",
            "training/solution_loss.py",
        ),
    shell:
        "ict lease -- ict pretrain --study {params.study} --model {wildcards.model} --eval {input.eval}"
        " --out {output} &> {log}"


rule fetch_model:
    input:
        local_weights,
    output:
        directory(f"{RESULTS}/{{model}}/base/model"),
    log:
        f"{RESULTS}/logs/fetch_model/{{model}}.log",
    wildcard_constraints:
        model=one_of(FETCHED),
    conda:
        "../../environment.yml"
    params:  # no code among them: an edit of the check need not download the weights again
        study=STUDY_FILE,
        config=lambda w: settings("base", Cell(w.model, BASE_VARIANT, 0)),
    shell:
        "ict lease -- ict fetch-model --study {params.study} --model {wildcards.model} --out {output} &> {log}"

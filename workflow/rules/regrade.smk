# Grades the stored completions of a study anew, after a change of the grader. No job has a declared input that another
# rule makes, so nothing is sampled or trained; that a file is another one than before stands in the parameters.
REGRADE = f"{RESULTS}/regrade"
REGRADED = [
    cell for cell in EVALUATED if Path(f"{folder(cell)}/completions.parquet").exists()
]
# what `workflow/reference.smk` reads: there where the study has all of it
COLLECTED = [
    "study.json",
    "manifest.json",
    *[
        f"{name}.parquet"
        for name in ("scores", "train_log", "tokens", "compute", "shadow", "overlap")
    ],
    *[f"{name}.parquet" for name in ("contamination", "near_duplicates")],
]
IS_WHOLE = len(REGRADED) == len(EVALUATED) and all(
    Path(f"{RESULTS}/{name}").exists() for name in COLLECTED
)


rule regrade_cell:
    output:
        grades=f"{REGRADE}/{{model}}/{{variant}}/seed-{{seed}}/grades.parquet",
        manifest=f"{REGRADE}/{{model}}/{{variant}}/seed-{{seed}}/grading.json",
    log:
        f"{RESULTS}/logs/regrade/{{model}}/{{variant}}/seed-{{seed}}.log",
    conda:
        "../../environment.yml"
    threads: GRADERS
    resources:
        mem_mb=grading_memory,
        runtime=GRADING_MINUTES,
    params:
        study=STUDY_FILE,
        completions=lambda w: f"{folder(cell_of(w))}/completions.parquet",
        problems=f"{RESULTS}/data/eval.parquet",
        state=lambda w: state_of(
            [
                f"{folder(cell_of(w))}/completions.parquet",
                f"{RESULTS}/data/eval.parquet",
            ]
        ),
        config=lambda w: settings("grade"),
        code=code("grading"),
    shell:
        "ict lease -- ict grade --study {params.study} --completions {params.completions} --problems {params.problems}"
        " --workers {threads} --out {output.grades} --manifest {output.manifest} &> {log}"


rule regrade:
    input:
        [f"{REGRADE}/{cell.folder}/grades.parquet" for cell in REGRADED],
    output:
        multiext(f"{REGRADE}/", "flips.csv", "flips.md", "changes.csv", "changes.md"),
        [f"{REGRADE}/{name}" for name in COLLECTED if IS_WHOLE],
    log:
        f"{RESULTS}/logs/regrade/flips.log",
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        results=results_folder,
        out=parent_of_output,
        stored="--stored" if IS_WHOLE else "",
        state=lambda w: state_of(f"{folder(cell)}/grades.parquet" for cell in REGRADED),
        code=code("collect.py", "grading/grade.py", "regrade.py"),
    shell:
        "ict regrade --study {params.study} --results {params.results} --out {params.out}"
        " {params.stored} &> {log} && cat {log}"

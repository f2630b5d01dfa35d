# Grades the stored completions of a study anew, after a change of the grader. No job has a declared input that another
# rule makes, so nothing is sampled or trained; that a file is another one than before stands in the parameters.
REGRADE = FILES.regraded.results
REGRADED_CELL = FILES.regraded.cell(OF_CELL)
REGRADED = [cell for cell in EVALUATED if FILES.cell(cell.folder).completions.exists()]
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
    (FILES.results / name).exists() for name in COLLECTED
)


rule regrade_cell:
    output:
        grades=REGRADED_CELL.grades,
        manifest=REGRADED_CELL.grading,
    log:
        FILES.log_of("regrade", OF_CELL),
    conda:
        "../../environment.yml"
    threads: GRADERS
    resources:
        mem_mb=grading_memory,
        runtime=GRADING_MINUTES,
    params:
        study=STUDY_FILE,
        completions=lambda w: str(FILES.cell(cell_of(w).folder).completions),
        problems=str(FILES.eval_problems),
        state=lambda w: state_of(
            [
                FILES.cell(cell_of(w).folder).completions,
                FILES.eval_problems,
            ]
        ),
        config=lambda w: settings("grade"),
        code=fingerprint("stages.grade"),
    shell:
        "ict lease -- ict grade --study {params.study} --completions {params.completions} --problems {params.problems}"
        " --workers {threads} --out {output.grades} --manifest {output.manifest} &> {log}"


rule regrade:
    input:
        [FILES.regraded.cell(cell.folder).grades for cell in REGRADED],
    output:
        multiext(f"{REGRADE}/", "flips.csv", "flips.md", "changes.csv", "changes.md"),
        [f"{REGRADE}/{name}" for name in COLLECTED if IS_WHOLE],
    log:
        FILES.log_of("regrade", "flips"),
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        results=results_folder,
        out=parent_of_output,
        stored="--stored" if IS_WHOLE else "",
        state=lambda w: state_of(FILES.cell(cell.folder).grades for cell in REGRADED),
        code=fingerprint("stages.regrade"),
    shell:
        "ict regrade --study {params.study} --results {params.results} --out {params.out}"
        " {params.stored} &> {log} && cat {log}"

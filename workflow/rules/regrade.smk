# Grades a study's stored completions again after a change of the grader. No job declares an input that another rule
# makes, so nothing is sampled or trained. A changed file shows in the parameters instead.
REGRADED_CELL = FILES.regraded.cell(OF_CELL)
REGRADED = [cell for cell in EVALUATED if FILES.cell(cell.folder).completions.exists()]
# whether the study has all files that `workflow/reference.smk` reads
IS_WHOLE = len(REGRADED) == len(EVALUATED) and all(
    file.exists() for file in FILES.measured
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
        "ict lease -- ict grade --study {params.study:q} --completions {params.completions:q} --problems {params.problems:q}"
        " --workers {threads:q} --out {output.grades:q} --manifest {output.manifest:q} &> {log:q}"


rule regrade:
    input:
        [FILES.regraded.cell(cell.folder).grades for cell in REGRADED],
    output:
        FILES.regraded.flips,
        FILES.regraded.changes,
        [*FILES.regraded.measured, *curve_in(FILES.regraded)] if IS_WHOLE else [],
    log:
        FILES.log_of("regrade", "flips"),
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        results=folder_of_output(above=1),
        out=folder_of_output(),
        cells=cells_folder(STUDY.name),
        stored=["--stored"] if IS_WHOLE else [],
        config=lambda w: settings("evidence"),
        state=lambda w: state_of(
            [
                *(FILES.cell(cell.folder).grades for cell in REGRADED),
                *map(FILES.frame, FRAMES),
            ]
        ),
        code=fingerprint("stages.regrade"),
    shell:
        "ict regrade --study {params.study:q} --results {params.results:q} --out {params.out:q}"
        " --cells {params.cells:q} {params.stored:q} &> {log:q} && cat {log:q}"

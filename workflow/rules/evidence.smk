# Makes statistics, tables, figures and pages. STORED has the measured files (scores, logs, settings); RESULTS receives
# what is made from them. Nothing here needs torch, vLLM or a GPU.
MEASURED = StudyFiles(Path(STORED))
SHOWN = StudyFiles(Path(RESULTS))
FIGURES = figures_of(config)
STATISTICS = [SHOWN.statistics(name) for name in statistics_of(config)]
TABLE_FILES = [SHOWN.table(name, kind) for name in TABLES for kind in TABLE_KINDS]
FIGURE_FILES = [SHOWN.figure(name, kind) for name in FIGURES for kind in FIGURE_KINDS]
PAGES = [
    SHOWN.notebook,
    SHOWN.report,
    SHOWN.answer,
    SHOWN.overview,
    *SHOWN.paper_files,
]
WHERE = (
    f"  main table  {SHOWN.table('main', 'md')} (and .csv, .tex)\n"
    f"  claims      {SHOWN.claims_text}\n"
    f"  figures     {SHOWN.figures}/\n"
    f"  report      {SHOWN.report}"
)
EVIDENCE = [*STATISTICS, *TABLE_FILES, *FIGURE_FILES, SHOWN.claims, *PAGES]


localrules:
    tables,
    figures,


rule tables:
    input:
        TABLE_FILES,


rule figures:
    input:
        FIGURE_FILES,


rule statistics:
    input:
        scores=MEASURED.frame("scores"),
        shared_rate_scores=MEASURED.frame("shared_rate_scores"),
        log=MEASURED.frame("log"),
        curve=curve_in(MEASURED),
        tokens=MEASURED.frame("tokens"),
        shadow=MEASURED.frame("shadow"),
        tuning=MEASURED.frame("tuning"),
        settings=MEASURED.settings,
        manifest=MEASURED.manifest,
        claims=own("configs/claims.yaml"),
    output:
        STATISTICS,
    log:
        SHOWN.log_of("statistics"),
    conda:
        "../../environment.yml"
    params:
        stored=folder_of_settings,
        results=folder_of_output(above=1),
        code=fingerprint("stages.statistics"),
    shell:
        "ict statistics --stored {params.stored:q} --results {params.results:q} --claims {input.claims:q} &> {log:q}"


rule make_tables:
    input:
        frames(TABLE_INPUTS),
        settings=MEASURED.settings,
        manifest=MEASURED.manifest,
        paper=own("configs/paper.yaml"),
    output:
        [path for path in TABLE_FILES if path.suffix != ".csv"],
        [
            report(
                SHOWN.table(name, "csv"),
                category="3 Tables as CSV",
                caption="../report/table.rst",
                labels={"table": title},
            )
            for name, title in numbered(TABLES).items()
        ],
    log:
        SHOWN.log_of("tables"),
    conda:
        "../../environment.yml"
    params:
        stored=folder_of_settings,
        results=folder_of_output(above=1),
        code=fingerprint("stages.tables", *(f"tables.{name}" for name in TABLES)),
    shell:
        "ict tables --stored {params.stored:q} --results {params.results:q} --paper {input.paper:q} &> {log:q}"


for figure in FIGURES:

    rule:
        name:
            f"figure_{figure}"
        input:
            frames(reads(figure)),
            settings=MEASURED.settings,
        output:
            SHOWN.figure(figure, "pdf"),
            report(
                SHOWN.figure(figure, "png"),
                category="2 Figures",
                caption="../report/figure.rst",
                labels={"figure": numbered(FIGURES)[figure]},
            ),
        log:
            SHOWN.log_of("figures", figure),
        conda:
            "../../environment.yml"
        params:
            figure=figure,
            stored=folder_of_settings,
            results=folder_of_output(above=1),
            caption=FIGURES[figure].caption,
            code=fingerprint("stages.figure", f"figures.{figure}"),
        shell:
            "ict figure --name {params.figure:q} --stored {params.stored:q} --results {params.results:q} &> {log:q}"


# The paper's figures under its own figure numbers, for every study that has their arms.
rule paper_figures:
    input:
        frames(["scores", "log", "quantities", "quantity_means", "curves"]),
        settings=MEASURED.settings,
        manifest=MEASURED.manifest,
        paper=own("configs/paper.yaml"),
    output:
        SHOWN.paper_files,
    log:
        SHOWN.log_of("paper_figures"),
    conda:
        "../../environment.yml"
    params:
        stored=folder_of_settings,
        results=folder_of_output(above=1),
        code=fingerprint(
            "stages.paper_figures",
            *(f"figures.{n}" for n in ("reward", "split", "elbow")),
        ),
    shell:
        "ict paper-figures --stored {params.stored:q} --results {params.results:q} --paper {input.paper:q} &> {log:q}"


rule claims:
    input:
        scores=MEASURED.frame("scores"),
        settings=MEASURED.settings,
        manifest=MEASURED.manifest,
        runs=frames(["runs", "shared_rate_runs"]),
        quantities=SHOWN.statistics("quantities"),
        claims=own("configs/claims.yaml"),
        beside=[
            own(file)
            for name in BESIDE
            for file in (
                StudyFiles(stored_folder(name)).claims,
                StudyFiles(stored_folder(name)).settings,
            )
        ],
    output:
        SHOWN.claims,
        SHOWN.claims_text,
    log:
        SHOWN.log_of("claims"),
    conda:
        "../../environment.yml"
    params:
        stored=folder_of_settings,
        results=folder_of_output(),
        code=fingerprint("stages.claims"),
    shell:
        "ict claims --stored {params.stored:q} --results {params.results:q} --claims {input.claims:q} &> {log:q}"


rule notebook:
    input:
        notebook=own(f"notebooks/{SHOWN.notebook.name}"),
        settings=MEASURED.settings,
        stored=[MEASURED.frame(name) for name in ("scores", "log")],
        tables=TABLE_FILES,
        figures=FIGURE_FILES,
        claims=SHOWN.claims_text,
        paper=SHOWN.paper_files,
    output:
        SHOWN.notebook,
    log:
        SHOWN.log_of("notebook"),
    conda:
        "../../environment.yml"
    params:
        stored=folder_of_settings,
        results=folder_of_output(),
        code=fingerprint("report.notebook"),
    shell:
        "ict notebook --notebook {input.notebook:q} --stored {params.stored:q} --results {params.results:q} &> {log:q}"


rule report:
    input:
        settings=MEASURED.settings,
        compute=MEASURED.frame("compute"),
        tuning=MEASURED.frame("tuning"),
        manifest=MEASURED.manifest,
        scores=MEASURED.frame("scores"),
        log=MEASURED.frame("log"),
        statistics=[
            SHOWN.statistics(name) for name in ("levels", "contrasts", "validity")
        ],
        claims=[SHOWN.claims, SHOWN.claims_text],
        tables=TABLE_FILES,
        figures=FIGURE_FILES,
        paper=SHOWN.paper_files,
        calibrated=own("ict_core/statistics/calibration.csv"),
    output:
        SHOWN.report,
        SHOWN.answer,
        report(
            SHOWN.overview,
            category="1 Overview",
            labels={"page": "What was run, the verdicts, claims and tables"},
            caption="../report/overview.rst",
        ),
    log:
        SHOWN.log_of("report"),
    conda:
        "../../environment.yml"
    params:
        stored=folder_of_settings,
        results=folder_of_output(),
        code=fingerprint("report.build"),
    shell:
        "ict report --stored {params.stored:q} --results {params.results:q} &> {log:q}"

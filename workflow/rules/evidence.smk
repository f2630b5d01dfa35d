# From the study's stored files to all that is shown. STORED holds what was measured (scores, logs, settings), RESULTS
# receives what is made from it. Nothing here needs torch, vLLM or a GPU.
STATISTICS = [f"{RESULTS}/{file}" for file in MADE.values()]
TABLE_FILES = expand(
    f"{RESULTS}/tables/{{name}}.{{suffix}}",
    name=TABLES,
    suffix=["csv", "md", "tex", "html"],
)


def frames(names):
    """The files of frames: measured ones lie in STORED, those of the statistics stage in RESULTS."""
    return [
        f"{RESULTS}/{MADE[name]}" if name in MADE else f"{STORED}/{MEASURED[name]}"
        for name in names
    ]


ALSO = {  # library files that a figure computes with
    "ablations": ["figures/forest.py"],
    "elbow": ["evidence/measures.py", "statistics/elbow.py"],
    "statements": ["evidence/measures.py", "statistics", "theory"],
    "single_logit": ["statistics", "theory"],
    "update": ["statistics", "theory"],
}
FIGURE_FILES = expand(
    f"{RESULTS}/figures/{{name}}.{{suffix}}", name=FIGURES, suffix=["pdf", "png"]
)
EVIDENCE = [
    *STATISTICS,
    *TABLE_FILES,
    *FIGURE_FILES,
    f"{RESULTS}/claims.json",
    f"{RESULTS}/paper_figures.ipynb",
    f"{RESULTS}/report.md",
]


rule statistics:
    input:
        scores=f"{STORED}/scores.parquet",
        log=f"{STORED}/train_log.parquet",
        tokens=f"{STORED}/tokens.parquet",
        shadow=f"{STORED}/shadow.parquet",
        settings=f"{STORED}/study.json",
        claims=local("configs/claims.yaml"),
    output:
        STATISTICS,
    log:
        f"{RESULTS}/logs/statistics.log",
    conda:
        "../../environment.yml"
    params:
        stored=stored_folder,
        results=results_folder,
        code=code(*STORED_CODE, "statistics", "evidence/claims.py"),
    shell:
        "ict statistics --stored {params.stored} --results {params.results} --claims {input.claims} &> {log}"


rule make_tables:
    input:
        frames(TABLE_INPUTS),
        settings=f"{STORED}/study.json",
        manifest=f"{STORED}/manifest.json",
        paper=local("configs/paper.yaml"),
    output:
        [path for path in TABLE_FILES if not path.endswith(".html")],
        [
            report(
                f"{RESULTS}/tables/{name}.html",
                category="3 Tables",
                caption="../report/table.rst",
                labels={"table": title},
            )
            for name, title in numbered(TABLES).items()
        ],
    log:
        f"{RESULTS}/logs/tables.log",
    conda:
        "../../environment.yml"
    params:
        stored=stored_folder,
        results=results_folder,
        code=code(
            *STORED_CODE,
            "contamination/overlap.py",
            "evidence/measures.py",
            "evidence/origins.py",
            "files.py",
            "statistics",
            "tables",
            "theory",
        ),
    shell:
        "ict tables --stored {params.stored} --results {params.results} --paper {input.paper} &> {log}"


for figure in FIGURES:

    rule:
        name:
            f"figure_{figure}"
        input:
            frames(reads(figure)),
            settings=f"{STORED}/study.json",
        output:
            f"{RESULTS}/figures/{figure}.pdf",
            report(
                f"{RESULTS}/figures/{figure}.png",
                category="4 Figures",
                caption="../report/figure.rst",
                labels={"figure": numbered(FIGURES)[figure]},
            ),
        log:
            f"{RESULTS}/logs/figures/{figure}.log",
        conda:
            "../../environment.yml"
        params:
            figure=figure,
            stored=stored_folder,
            results=results_folder,
            caption=FIGURES[figure].caption,
            code=code(
                *STORED_CODE,
                *FIGURE_CODE,
                f"figures/{figure}.py",
                *ALSO.get(figure, []),
            ),
        shell:
            "ict figure --name {params.figure} --stored {params.stored} --results {params.results} &> {log}"


rule claims:
    input:
        scores=f"{STORED}/scores.parquet",
        settings=f"{STORED}/study.json",
        manifest=f"{STORED}/manifest.json",
        runs=f"{RESULTS}/statistics/runs.parquet",
        quantities=f"{RESULTS}/statistics/quantities.parquet",
        claims=local("configs/claims.yaml"),
    output:
        f"{RESULTS}/claims.json",
        f"{RESULTS}/claims.md",
        report(
            f"{RESULTS}/claims.html",
            category="2 Claims",
            labels={"page": "Every claim and its verdict"},
            caption="../report/claims.rst",
        ),
    log:
        f"{RESULTS}/logs/claims.log",
    conda:
        "../../environment.yml"
    params:
        stored=stored_folder,
        results=parent_of_output,
        code=code("evidence", "files.py", "statistics", "theory", "report"),
    shell:
        "ict claims --stored {params.stored} --results {params.results} --claims {input.claims} &> {log}"


rule notebook:
    input:
        notebook=local("notebooks/paper_figures.ipynb"),
        settings=f"{STORED}/study.json",
        stored=multiext(
            f"{STORED}/",
            "scores.parquet",
            "train_log.parquet",
            "tokens.parquet",
            "shadow.parquet",
            "overlap.parquet",
            "compute.parquet",
        ),
        statistics=STATISTICS,
        tables=TABLE_FILES,
        claims=f"{RESULTS}/claims.json",
    output:
        f"{RESULTS}/paper_figures.ipynb",
    log:
        f"{RESULTS}/logs/notebook.log",
    conda:
        "../../environment.yml"
    params:
        stored=stored_folder,
        results=parent_of_output,
        code=code(
            "evidence",
            "files.py",
            "statistics",
            "theory",
            "tables",
            "figures",
            "report",
        ),
    shell:
        "ict notebook --notebook {input.notebook} --stored {params.stored} --results {params.results} &> {log}"


rule report:
    input:
        settings=f"{STORED}/study.json",
        compute=f"{STORED}/compute.parquet",
        manifest=f"{STORED}/manifest.json",
        claims=[f"{RESULTS}/claims.json", f"{RESULTS}/claims.md"],
        tables=TABLE_FILES,
        figures=FIGURE_FILES,
    output:
        f"{RESULTS}/report.md",
        report(
            f"{RESULTS}/overview.html",
            category="1 Overview",
            labels={"page": "What was run, and the verdicts"},
            caption="../report/overview.rst",
        ),
        report(
            f"{RESULTS}/manifest.html",
            category="5 Run manifests",
            labels={"page": "Packages, code and jobs"},
            caption="../report/manifest.rst",
        ),
    log:
        f"{RESULTS}/logs/report.log",
    conda:
        "../../environment.yml"
    params:
        stored=stored_folder,
        results=parent_of_output,
        code=code(
            *STORED_CODE,
            "files.py",
            "report",
            "figures/captions.py",
            "tables/titles.py",
        ),
    shell:
        "ict report --stored {params.stored} --results {params.results} &> {log}"

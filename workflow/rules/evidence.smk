TABLES = expand(
    f"{RESULTS}/tables/{{name}}.{{suffix}}",
    name=["main", "contrasts", "thresholds", "statuses"],
    suffix=["csv", "md", "tex"],
)
FIGURES = expand(
    f"{RESULTS}/figures/{{name}}.{{suffix}}",
    name=["reward", "entropy", "pass_at_k"],
    suffix=["pdf", "png"],
)


rule make_tables:
    input:
        f"{RESULTS}/scores.parquet",
    output:
        TABLES,
    log:
        f"{RESULTS}/logs/tables.log",
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        out=parent_of_output,
        config=settings("statistics"),
        code=code("statistics", "tables"),
    shell:
        "ict tables --study {params.study} --scores {input} --out {params.out} &> {log}"


rule figure_reward:
    input:
        f"{RESULTS}/train_log.parquet",
    output:
        multiext(f"{RESULTS}/figures/reward", ".pdf", ".png"),
    log:
        f"{RESULTS}/logs/figures/reward.log",
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        out=parent_of_output,
        config=settings("statistics"),
        code=code(*FIGURE_CODE, "figures/reward.py"),
    shell:
        "ict figure --name reward --study {params.study} --frame {input} --out {params.out} &> {log}"


rule figure_entropy:
    input:
        f"{RESULTS}/train_log.parquet",
    output:
        multiext(f"{RESULTS}/figures/entropy", ".pdf", ".png"),
    log:
        f"{RESULTS}/logs/figures/entropy.log",
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        out=parent_of_output,
        config=settings("statistics"),
        code=code(*FIGURE_CODE, "figures/entropy.py"),
    shell:
        "ict figure --name entropy --study {params.study} --frame {input} --out {params.out} &> {log}"


rule figure_pass_at_k:
    input:
        f"{RESULTS}/scores.parquet",
    output:
        multiext(f"{RESULTS}/figures/pass_at_k", ".pdf", ".png"),
    log:
        f"{RESULTS}/logs/figures/pass_at_k.log",
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        out=parent_of_output,
        config=settings("statistics"),
        code=code(*FIGURE_CODE, "figures/pass_at_k.py", "statistics"),
    shell:
        "ict figure --name pass_at_k --study {params.study} --frame {input} --out {params.out} &> {log}"


rule report:
    input:
        tables=TABLES,
        figures=FIGURES,
    output:
        f"{RESULTS}/report.md",
    log:
        f"{RESULTS}/logs/report.log",
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        tables=lambda w, input: Path(input.tables[0]).parent.as_posix(),
        figures=lambda w, input: Path(input.figures[0]).parent.as_posix(),
        config=settings("statistics"),
        code=code("report.py"),
    shell:
        "ict report --study {params.study} --tables {params.tables} --figures {params.figures} --out {output} &> {log}"

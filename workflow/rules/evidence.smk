FIGURE_FRAMES = {"reward": "train_log", "entropy": "train_log", "pass_at_k": "scores"}
TABLES = expand(
    RESULTS + "/tables/{name}.{suffix}",
    name=["main", "contrasts", "thresholds", "statuses"],
    suffix=["csv", "md", "tex"],
)
FIGURES = expand(RESULTS + "/figures/{name}.{suffix}", name=FIGURE_FRAMES, suffix=["pdf", "png"])


rule make_tables:
    input:
        f"{RESULTS}/scores.parquet",
    output:
        TABLES,
    params:
        config=settings("statistics"),
        code=code("statistics", "tables"),
    log:
        f"{RESULTS}/logs/tables.log",
    conda:
        "../../environment.yml"
    shell:
        "ict tables --study {STUDY_FILE} --scores {input} --out {RESULTS}/tables &> {log}"


rule figure_reward:
    input:
        f"{RESULTS}/train_log.parquet",
    output:
        multiext(f"{RESULTS}/figures/reward", ".pdf", ".png"),
    params:
        config=settings("statistics"),
        code=code(*FIGURE_CODE, "figures/reward.py"),
    log:
        f"{RESULTS}/logs/figures/reward.log",
    conda:
        "../../environment.yml"
    shell:
        "ict figure --name reward --study {STUDY_FILE} --frame {input} --out {RESULTS}/figures &> {log}"


rule figure_entropy:
    input:
        f"{RESULTS}/train_log.parquet",
    output:
        multiext(f"{RESULTS}/figures/entropy", ".pdf", ".png"),
    params:
        config=settings("statistics"),
        code=code(*FIGURE_CODE, "figures/entropy.py"),
    log:
        f"{RESULTS}/logs/figures/entropy.log",
    conda:
        "../../environment.yml"
    shell:
        "ict figure --name entropy --study {STUDY_FILE} --frame {input} --out {RESULTS}/figures &> {log}"


rule figure_pass_at_k:
    input:
        f"{RESULTS}/scores.parquet",
    output:
        multiext(f"{RESULTS}/figures/pass_at_k", ".pdf", ".png"),
    params:
        config=settings("statistics"),
        code=code(*FIGURE_CODE, "figures/pass_at_k.py", "statistics"),
    log:
        f"{RESULTS}/logs/figures/pass_at_k.log",
    conda:
        "../../environment.yml"
    shell:
        "ict figure --name pass_at_k --study {STUDY_FILE} --frame {input} --out {RESULTS}/figures &> {log}"


rule report:
    input:
        TABLES,
        FIGURES,
    output:
        f"{RESULTS}/report.md",
    params:
        config=settings("statistics"),
        code=code("report.py"),
    log:
        f"{RESULTS}/logs/report.log",
    conda:
        "../../environment.yml"
    shell:
        "ict report --study {STUDY_FILE} --tables {RESULTS}/tables --figures {RESULTS}/figures --out {output} &> {log}"

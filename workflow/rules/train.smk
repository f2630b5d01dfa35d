rule train:
    input:
        base=base_of,
        problems=FILES.train_problems,
    output:
        directory(CELL.train),
    log:
        FILES.log_of("train", OF_CELL),
    conda:
        "../../environment.yml"
    threads: lambda w: STUDY.training.threads * processes(w)
    resources:
        gpu=needs("train", "gpu"),
        mem_mb=needs("train", "mem_mb"),
        runtime=needs("train", "runtime"),
    params:
        launch=launch,
        study=STUDY_FILE,
        trackers=lambda w: str(FILES.trackers(cell_of(w).folder)),
        config=lambda w: settings("train", cell_of(w)),
        code=lambda w: fingerprint("stages.train", selector(w.variant)),
    shell:
        "ict lease --gpus {resources.gpu} --"
        " {params.launch} train --study {params.study} --model {wildcards.model} --variant {wildcards.variant}"
        " --seed {wildcards.seed} --base {input.base} --problems {input.problems} --out {output}"
        " --trackers {params.trackers} &> {log}"

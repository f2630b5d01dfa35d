# Applies the selection rules to tokens of the untrained models, without training: `snakemake token_study`. These are
# separate targets that are not part of `all`.
TOKENS = FILES.token_study
MEASURED_TOKENS = [TOKENS.statistics(name) for name in TOKEN_FRAMES]
MEASURED_TOKENS += [
    TOKENS.frame("overlap"),
    TOKENS.token_texts,
    TOKENS.settings,
    TOKENS.manifest,
]


rule rollouts:
    input:
        trained=model_read,
        problems=FILES.eval_problems,
    output:
        FILES.rollouts("{model}", "{variant}", "{seed}"),
    log:
        FILES.log_of("rollouts", OF_CELL),
    conda:
        "../../environment.yml"
    threads: STUDY.evaluation.threads
    resources:
        **needs("generate"),
    params:
        study=STUDY_FILE,
        checkpoint=model_folder,
        cache=COMPLETIONS_CACHE.as_posix(),
        config=lambda w: [
            settings("generate", Cell(w.model, BASE_VARIANT, 0)),
            settings("grade"),
        ],
        code=fingerprint("stages.rollouts"),
    shell:
        "ict lease --gpus {resources.gpu:q} --"
        " ict rollouts --study {params.study:q} --model {wildcards.model:q} --checkpoint {params.checkpoint:q}"
        " --problems {input.problems:q} --cache {params.cache:q} --out {output:q} &> {log:q}"


rule read_tokens:
    input:
        base=first_base,
        problems=FILES.eval_problems,
        rollouts=FILES.rollouts("{model}"),
    output:
        FILES.rollout_tokens("{model}"),
    log:
        FILES.log_of("read_tokens", "{model}"),
    conda:
        "../../environment.yml"
    threads: STUDY.evaluation.threads
    resources:
        **needs("generate"),
    params:
        study=STUDY_FILE,
        config=lambda w: settings("read_tokens"),
        code=fingerprint("stages.read_tokens"),
    shell:
        "ict lease --gpus {resources.gpu:q} --"
        " ict read-tokens --study {params.study:q} --model {wildcards.model:q} --checkpoint {input.base:q}"
        " --problems {input.problems:q} --rollouts {input.rollouts:q} --out {output:q} &> {log:q}"


rule token_gradients:
    input:
        base=first_base,
        problems=FILES.eval_problems,
        rollouts=FILES.rollouts("{model}"),
        tokens=FILES.rollout_tokens("{model}"),
    output:
        FILES.rollout_gradients("{model}"),
    log:
        FILES.log_of("token_gradients", "{model}"),
    conda:
        "../../environment.yml"
    threads: STUDY.evaluation.threads
    resources:
        **needs("generate"),
    params:
        study=STUDY_FILE,
        config=lambda w: settings("token_study"),
        code=fingerprint("stages.token_gradients", *map(selector, STUDY.methods)),
    shell:
        "ict lease --gpus {resources.gpu:q} --"
        " ict token-gradients --study {params.study:q} --model {wildcards.model:q} --checkpoint {input.base:q}"
        " --problems {input.problems:q} --rollouts {input.rollouts:q} --tokens {input.tokens:q} --out {output:q} &> {log:q}"


rule token_frames:
    input:
        FILES.eval_problems,
        models_of(map(STUDY.first_base, STUDY.models)),
        [FILES.rollouts(model) for model in STUDY.models],
        [FILES.rollout_tokens(model) for model in STUDY.models],
        [FILES.rollout_gradients(model) for model in STUDY.models],
    output:
        MEASURED_TOKENS,
    log:
        FILES.log_of("token_frames"),
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        results=folder_of_output(above=2),
        config=lambda w: [settings("token_study"), settings("evidence")],
        code=fingerprint("stages.token_frames", *map(selector, STUDY.methods)),
    shell:
        "ict token-frames --study {params.study:q} --results {params.results:q} &> {log:q}"


rule token_pages:
    input:
        MEASURED_TOKENS,
        settings=TOKENS.settings,
        claims=own("configs/claims.yaml"),
    output:
        TOKENS.token_pages,
    log:
        FILES.log_of("token_pages"),
    conda:
        "../../environment.yml"
    params:
        stored=folder_of_settings,
        results=folder_of_output(),
        code=fingerprint("stages.token_pages"),
    shell:
        "ict token-pages --stored {params.stored:q} --results {params.results:q} --claims {input.claims:q} &> {log:q}"


rule token_study:
    input:
        TOKENS.token_pages,


# Applies the readings of the paper to tokens of untrained models and of the trained models that the study names.
rule readings_of_model:
    input:
        trained=model_read,
        problems=FILES.eval_problems,
        rollouts=FILES.rollouts("{model}", "{variant}", "{seed}"),
        claims=ancient(own("configs/claims.yaml")),
    output:
        FILES.readings("{model}", "{variant}", "{seed}"),
    log:
        FILES.log_of("readings", OF_CELL),
    conda:
        "../../environment.yml"
    threads: STUDY.evaluation.threads
    resources:
        **needs("generate"),
    params:
        study=STUDY_FILE,
        checkpoint=model_folder,
        config=lambda w: settings("read_tokens"),
        ranges=ranges_stated,
        code=fingerprint("stages.readings"),
    shell:
        "ict lease --gpus {resources.gpu:q} --"
        " ict readings --study {params.study:q} --model {wildcards.model:q} --checkpoint {params.checkpoint:q}"
        " --problems {input.problems:q} --rollouts {input.rollouts:q} --claims {input.claims:q} --out {output:q} &> {log:q}"


rule readings:
    input:
        [FILES.readings(*cell) for cell in STUDY.cells_read()],
        claims=own("configs/claims.yaml"),
    output:
        FILES.reading_pages,
    log:
        FILES.log_of("readings_pages"),
    conda:
        "../../environment.yml"
    params:
        study=STUDY_FILE,
        results=folder_of_output(above=1),
        config=lambda w: [settings("read_tokens"), settings("evidence")],
        code=fingerprint("stages.readings_pages"),
    shell:
        "ict readings-pages --study {params.study:q} --results {params.results:q} --claims {input.claims:q} &> {log:q}"

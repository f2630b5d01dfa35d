# Makes tables, figures and pages from stored files, without training. The default is the stored run of the miniature
# (`make figures`); `--config stored=FOLDER results=FOLDER` takes another, by itself into `results/rebuilt/<its name>`.
report: "report/workflow.rst"


include: "rules/common.smk"


try:
    check_environment(applicable_lock(ROOT / "requirements", engine=False))
except UserError as error:
    raise WorkflowError(str(error)) from None

if unknown := config.keys() - {"stored", "results"}:
    raise WorkflowError(f"--config={min(unknown)}: allowed: stored and results")
STORED = str(config.get("stored", "results/reference/mini"))
RESULTS = str(config.get("results", f"results/rebuilt/{Path(STORED).name}"))
try:
    config |= read_manifest(StudyFiles(Path(STORED)).settings)
except UserError as error:
    raise WorkflowError(str(error)) from None
BESIDE = config.get("beside", [])


include: "rules/evidence.smk"


onstart:
    if workflow.local_exec:
        begin_run(workflow.snakemake_tmp_dir)


localrules:
    all,


rule all:
    default_target: True
    input:
        EVIDENCE,


onsuccess:
    print(f"Made from {STORED}:\n{WHERE}")

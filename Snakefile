include: "workflow/Snakefile"


# An include does not set the default target.
workflow.default_target = "all"

"""The settings that the evidence is read by."""

from ict_core.jobs.command import Given, StudyFile, command, load_study


@command("settings")
def run(study: StudyFile, out: Given) -> None:
    """Write the settings that the evidence is read by."""
    from ict_core.store.manifests import write_manifest

    write_manifest(out, load_study(study).stage_config("evidence"))

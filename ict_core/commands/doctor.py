"""The subcommand that looks at the machine before a study does."""

import argparse
import sys

from ict_core.commands.stages import load_study, repository


def doctor(options: argparse.Namespace) -> None:
    """Check whether this machine can run a study, and say what to do where it cannot; exit status 1 then."""
    from ict_core.tools.doctor import FAULT, Patient, doctor

    patient = Patient(load_study(options.study), repository(options))
    faults = 0
    for name, finding in doctor(patient):
        faults += finding.level == FAULT
        print(f"{finding.level:8} {name:9} {finding.text}", flush=True)
    if faults:
        sys.exit(1)

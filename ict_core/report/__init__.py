"""The pages of a study: an overview with the verdicts, everything on one page, and the manifests of the runs."""

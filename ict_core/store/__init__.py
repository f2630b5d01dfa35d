"""The files on disk: frames and their schemas, manifests, hashes, a study's paths, and the code that a job runs."""

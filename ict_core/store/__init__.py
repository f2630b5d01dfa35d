"""What is on the disk: frames and schemas, manifests, hashes, where a study's files lie, which code a job runs."""

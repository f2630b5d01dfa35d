"""The subcommands of `ict`: each takes the parsed options and runs one stage."""

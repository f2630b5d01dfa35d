"""The subcommands of `ict` that people use beside the stages, and the command itself."""

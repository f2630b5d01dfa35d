"""The subcommands of `ict` that people use besides the stages, and the command itself."""

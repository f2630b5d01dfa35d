"""Our statistics on anybody's results: logs of other harnesses and plain tables, compared problem by problem."""

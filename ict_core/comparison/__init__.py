"""The project's statistics on other results: logs of other harnesses and tables, compared problem by problem."""

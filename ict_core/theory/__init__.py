"""The paper's theory of how the entropies change: its formulas, and how they fit measured tokens. Imports no torch."""

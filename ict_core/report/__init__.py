"""The pages of a study: an overview, everything on one page, the claims, the paper's figures, and token studies."""

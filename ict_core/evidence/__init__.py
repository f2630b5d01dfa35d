"""The claims ledger: a claim of the paper, the test declared for it, and the verdict that a study's runs give."""

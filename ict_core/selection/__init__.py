"""Selection rules: each a free function of the batch whose tokens it chooses from, in a file of this folder."""

"""Selection rules. Each one is a free function, in a file of this folder, that weighs the tokens of a batch."""

"""Pretraining, and the training of a cell by TRL's GRPOTrainer; the only package that imports TRL."""

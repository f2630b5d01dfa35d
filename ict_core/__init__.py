"""A reproducible benchmark and ablation harness for token selection in RLVR."""

"""What people ask beside running a study: its cost, whether this machine can, where a number comes from."""

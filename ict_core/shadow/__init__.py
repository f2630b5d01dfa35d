"""Shadow scoring: every selection rule side by side on the same rollouts."""

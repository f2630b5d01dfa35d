"""The page that shows a cell's rollouts token by token."""

"""From a number in a table back to the test, the runs, the samples, the checkpoint, the configuration, the commit."""

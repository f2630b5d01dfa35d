"""How often the intervals hold the truth and the tests err, measured on simulated studies."""

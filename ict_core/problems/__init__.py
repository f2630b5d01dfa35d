"""The problems of benchmarks and training sets, generated here or published, and the templates they stand in."""

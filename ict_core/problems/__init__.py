"""The problems of benchmarks and training sets, generated here or published, and their prompt templates."""

"""Studies: a paper's experiments, run again, beside what it published."""

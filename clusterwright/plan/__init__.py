"""The Plan: the only place that chooses, and the record that everything after it reads."""

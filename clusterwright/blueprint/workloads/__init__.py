"""The kinds of workload as a blueprint describes them. Start with `training`, which holds the model of all."""

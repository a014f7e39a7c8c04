"""Serving as a kind of workload: replicas for a load and goals, and what a month of it costs. Open `engine` first."""

"""Discrete-event simulation of a replica and of a fleet behind a router. Start with `fleet`."""

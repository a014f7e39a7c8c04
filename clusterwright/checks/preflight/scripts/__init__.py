"""Checks of scripts, jobs and manifests: what they may do, and what they need. Start with `safety`."""

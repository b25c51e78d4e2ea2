"""Stress with a dose: what a robot survives, not whether."""

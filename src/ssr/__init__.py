"""SSR: surefooted and symmetric humanoid traversal from an egocentric depth camera."""

__version__ = "0.1.0"

"""Terrain: training tiles, evaluation strips, heights under the feet and the level curriculum."""

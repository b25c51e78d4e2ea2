"""Vision: the depth camera and its renderers, height maps, and how well the ground would carry a sole."""

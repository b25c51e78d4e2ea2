"""Reference motion: recordings and plans become motion of the robot, and that becomes the style reward's data.

bvh, joint_arrays, amass ─► recording ─► contacts ─► ground ─► scaling ─┐
                          footsteps ─► curves ─► synthesis ─────────────┴► targets ─► solver ─► clip ─► quality
                                                                 store ─► dataset (AMP windows, start states)
"""

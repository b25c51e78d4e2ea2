"""Reference motion: recordings and plans become motion of the robot, the style reward's data.

bvh, joint_arrays, amass ─► recording ─► contacts ─► footing ─► scaling ─┐
            flat_plans, terrain_plans ─► footsteps ─► soles ─► curves ───┴─► targets ─► solver ─► clip
clip ─► quality, store, figure;  store ─► dataset: AMP windows and states to start from
"""

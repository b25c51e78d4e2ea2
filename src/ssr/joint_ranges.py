"""What the joints of a humanoid can be, whoever says so: a data file, a TOML file or a contract."""

from __future__ import annotations

from math import pi
from typing import Annotated

from ssr.ranges import Within

Angle = Annotated[float, Within(-2 * pi, 2 * pi)]  #: rad
Torque = Annotated[float, Within(0.1, 2000.0)]  #: N m
Velocity = Annotated[float, Within(0.1, 100.0)]  #: rad/s
Stiffness = Annotated[float, Within(0.1, 5000.0)]  #: N m/rad
Damping = Annotated[float, Within(0.0, 500.0)]  #: N m s/rad
ActionScale = Annotated[float, Within(1e-3, 5.0)]  #: rad per unit of action

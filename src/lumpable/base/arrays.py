"""The types of arrays that the package passes around."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

BoolMatrix = npt.NDArray[np.bool_]
FloatCube = npt.NDArray[np.float64]
FloatMatrix = npt.NDArray[np.float64]
IntMatrix = npt.NDArray[np.int64]
BoolVector = npt.NDArray[np.bool_]
FloatVector = npt.NDArray[np.float64]
IntVector = npt.NDArray[np.int64]

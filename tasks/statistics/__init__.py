"""Statistics of scores and labels: intervals, significance, agreement.

Pure functions over arrays; the literature that each follows is named in its docstring. Random
choices come from a seed, so that a table can be made again.
"""

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

"""Tables, figures, cards and the report.

matplotlib reads its user's settings when it is imported, and fails on some of them; figures are
drawn under `figure_style.STYLE` alone.
"""

import os

os.environ["MPLBACKEND"] = "agg"
os.environ["MATPLOTLIBRC"] = os.devnull

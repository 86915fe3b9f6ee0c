"""Generators fitted to recordings: parameters of `generator = "mmwave"` and `"frames"`, and how near a draw comes.

`recordings` reads files and draws from generators. `blockage` fits the states of a link, `frame_sizes` an encoder's
frames. `distances` compares, `report` writes TOML, `pictures` draws.
"""

from paceline.fitting.blockage import BlockageFit, fit_blockage
from paceline.fitting.frame_sizes import FramesFit, fit_frames

__all__ = ["BlockageFit", "FramesFit", "fit_blockage", "fit_frames"]

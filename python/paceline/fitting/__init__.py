"""Generators fitted to recordings: parameters of `generator = "mmwave"` and `"frames"`, and how far both are apart.

`recordings` reads and draws, `blockage` fits the states of a link, `frame_sizes` those of an encoder, `distances`
compares, `report` says it all as TOML, `pictures` draws it.
"""

from paceline.fitting.blockage import BlockageFit, fit_blockage
from paceline.fitting.frame_sizes import FramesFit, fit_frames

__all__ = ["BlockageFit", "FramesFit", "fit_blockage", "fit_frames"]

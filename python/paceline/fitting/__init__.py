"""Generators fitted to recordings: parameters of `generator = "mmwave"` and `"frames"`, and how near a draw comes.

`recordings` reads files and draws from generators. `blockage` fits the states of a link, `frame_sizes` an encoder's
frames. `distances` compares, `report` writes TOML, `pictures` draws.
"""

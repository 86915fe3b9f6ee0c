"""Prints crates/playground/page/vocabulary.js: the colours of the command's pictures, for the page that simulates.

`python site/vocabulary.py > crates/playground/page/vocabulary.js`
"""

import json

from paceline.plots import styles, vocabulary


def script() -> str:
    """The module of JavaScript."""
    looks = {kind: styles.place(look.colour) for kind, look in vocabulary.LOOKS.items()}
    named = {
        "LIGHT": list(styles.LIGHT),
        "DARK": list(styles.DARK),
        "CYCLE": [styles.place(colour) for colour in styles.CYCLE],
        "GREY": styles.place(styles.GREY),
        "LOOKS": looks,
    }
    lines = [f"export const {name} = {json.dumps(value)};" for name, value in named.items()]
    return (
        "\n".join(["// Written by site/vocabulary.py; the colours are those of python/paceline/plots.", *lines]) + "\n"
    )


if __name__ == "__main__":
    print(script(), end="")

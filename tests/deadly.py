"""Work that ends its worker process. A module of its own: each new worker loads it, and what it imports."""

import os


def deadly(_: None, item: int) -> int:
    if item == 40:
        os._exit(9)
    return item * item


def always_deadly(_: None, item: int) -> int:
    os._exit(9)

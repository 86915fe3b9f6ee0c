"""A controller in a process of its own, with the faults that its argument names."""

import os
import struct
import sys
import time


def read(count: int) -> bytes:
    found = b""
    while len(found) < count:
        more = os.read(0, count - len(found))
        if not more:
            sys.exit(0)
        found += more
    return found


def send(message: bytes) -> None:
    left = struct.pack("<I", len(message)) + message
    while left:
        left = left[os.write(1, left) :]


def text(value: str) -> bytes:
    return struct.pack("<H", len(value.encode())) + value.encode()


def answer(number: int, bits: int = 1, target: float = 1.0, timeout: float = 0.0) -> bytes:
    return struct.pack("<cQBdddd", b"a", number, bits, target, 0.0, 0.0, timeout)


def description(version: int = 1, steers: bytes = b"m", hears: int = 0) -> bytes:
    facts = struct.pack("<cH", b"d", version) + text("A program of a test") + text("7.1") + steers + bytes([hears])
    return facts + struct.pack("<H", 1) + text("gain") + text("0.5") + text("a number")


def described(behaviour: str) -> None:
    """Answers the question for the description."""
    wrong = {
        "version": description(version=2),
        "steers": description(steers=b"x"),
        "hears": description(hears=255),
        "answers-description": answer(1),
        "short-description": description()[:-3],
        "long-description": description() + b"more",
        "letter": b"?",
        "no-text": struct.pack("<cHH", b"d", 1, 2) + b"\xff\xff",
        "complains-first": b"e" + text("version 1 is too new"),
    }
    if behaviour == "prints":
        print("hello, I am ready", flush=True)
    elif behaviour == "prints-to-people":
        print("hello, I am ready", file=sys.stderr)
    elif behaviour == "closes":
        os.close(1)
        read(1)
    elif behaviour == "dies-first":
        os._exit(7)
    elif behaviour == "empty":
        send(b"")
        return
    elif behaviour == "huge":
        os.write(1, struct.pack("<I", 1 << 20) + b"d")
        return
    elif behaviour == "floods":
        while True:
            os.write(1, 20 * (struct.pack("<I", len(description())) + description()))
    send(wrong.get(behaviour, description(hears=2 if behaviour == "wakes" else 0)))


def told(behaviour: str, letter: bytes, number: int, now: float) -> None:
    """Answers an event."""
    if letter == b"R" and now > 1.0:
        if behaviour == "dies":
            os._exit(3)
        elif behaviour == "killed":
            os.kill(os.getpid(), 9)
        elif behaviour == "silent":
            time.sleep(60)
        elif behaviour == "late-number":
            return send(answer(number - 1))
        elif behaviour == "twice":
            return send(answer(number) + struct.pack("<I", 42) + answer(number + 1))
        elif behaviour == "describes":
            return send(description())
        elif behaviour == "complains":
            return send(b"e" + text("I divide by zero"))
        elif behaviour == "nan":
            return send(answer(number, 1, float("nan")))
        elif behaviour == "bits":
            return send(answer(number, 0x3F))
        elif behaviour == "writes":
            print("now I adapt", flush=True)
    if behaviour == "wakes":
        return send(answer(number, 9, 1.0, 0.0))
    send(answer(number))
    return None


def main(behaviour: str) -> None:
    while True:
        (length,) = struct.unpack("<I", read(4))
        message = read(length)
        if message[:1] == b"D":
            described(behaviour)
            continue
        number, now = struct.unpack_from("<Qd", message, 1)
        told(behaviour, message[:1], number, now)


main(sys.argv[1])

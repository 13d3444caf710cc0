"""Known answers for 16-bit uploads and fragments: `python3 tests/vectors/small_frames.py > tests/vectors/small_frames.txt`.

Written from the tables of core/src/federated/small.rs and core/src/wire/fragments.rs, with rational numbers, hashlib and
a checksum bit by bit; shares no code with them.
"""

import hashlib
import math
from fractions import Fraction


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def trunc(x):
    return int(x) if x >= 0 else -int(-x)


def small(deployment, config, chain, agent, round_, attempt, radius, eighths):
    """Numbers are multiples of 1/8, so that both formats hold them; the norm is bounded by integer square roots."""
    le = lambda value, size: value.to_bytes(size, "little")
    tag = hashlib.sha256(le(deployment, 8) + le(config, 8) + le(chain, 8)).digest()[:4]
    weights = [Fraction(x, 8) for x in eighths]
    squares = sum(w * w for w in weights)
    scale = 10**40
    norm = Fraction(math.isqrt(int(squares * scale)), math.isqrt(scale))
    factor = min(Fraction(1), radius / norm) if norm else Fraction(1)
    numbers = b"".join(trunc(32767 * factor * w / radius).to_bytes(2, "little", signed=True) for w in weights)
    body = b"\x81" + tag + le(agent, 4) + le(round_, 4) + le(attempt, 2) + le(len(weights), 2) + numbers
    return body + le(crc32c(body), 4)


def pieces(frame, packet):
    count = -(-len(frame) // (packet - 9))
    width = -(-len(frame) // count)
    head = b"\x82" + crc32c(frame).to_bytes(4, "little") + len(frame).to_bytes(2, "little") + bytes([count])
    return [head + bytes([i]) + frame[i * width : (i + 1) * width] for i in range(count)]


CASES = [
    (0x0123456789ABCDEF, 42, 7, 3, 9, 1, [1, -2, 3, -5, 8, 0, 7, -7]),
    (1, 2**64 - 1, 0, 2**32 - 1, 2**32 - 1, 2**16 - 1, [24, -40, 3, 17, -1, 0, 9, 31]),
    (77, 5, 2**63, 0, 0, 0, [0] * 8),
    (77, 5, 2**63, 1, 2, 0, [24] + [0] * 7),
]

if __name__ == "__main__":
    print("# deployment config chain agent round attempt | weights in eighths | frame; S = 6, P = 4, so r = 3")
    for *header, eighths in CASES:
        frame = small(*header, Fraction(3), eighths)
        print("small", *header, "|", *eighths, "|", frame.hex())
    print("# bytes of a packet | the frame 0, 1, 2, … of so many bytes | pieces")
    for packet, length in [(51, 100), (16, 22), (222, 40)]:
        frame = bytes(i % 256 for i in range(length))
        print("pieces", packet, "|", length, "|", *[piece.hex() for piece in pieces(frame, packet)])

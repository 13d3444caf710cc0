"""Known answers for shares of two servers: `python3 tests/vectors/shares.py > tests/vectors/shares.txt`.

Written from RFC 7748, 5869 and 8439 with integers, hashlib and hmac, and checked against the vectors of these RFCs before
anything is printed; the protocol around them from the tables of core/src/federated/shares. Shares no code with it.
"""

import hashlib
import hmac
import struct

P = 2**255 - 19


def x25519(scalar, point):
    k = bytearray(scalar)
    k[0] &= 248
    k[31] = (k[31] & 127) | 64
    k = int.from_bytes(k, "little")
    u = (int.from_bytes(point, "little") & (2**255 - 1)) % P
    x1, x2, z2, x3, z3, swap = u, 1, 0, u, 1, 0
    for t in reversed(range(255)):
        bit = (k >> t) & 1
        if swap ^ bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb = a * a % P, b * b % P
        e = (aa - bb) % P
        da, cb = d * a % P, c * b % P
        x3, z3 = (da + cb) ** 2 % P, x1 * (da - cb) ** 2 % P
        x2, z2 = aa * bb % P, e * (aa + 121665 * e) % P
    if swap:
        x2, x3, z2, z3 = x3, x2, z3, z2
    return (x2 * pow(z2, P - 2, P) % P).to_bytes(32, "little")


BASE = (9).to_bytes(32, "little")


def extract(salt, ikm):
    return hmac.new(salt, ikm, hashlib.sha256).digest()


def expand(prk, info, length):
    out, block, counter = b"", b"", 1
    while len(out) < length:
        block = hmac.new(prk, block + info + bytes([counter]), hashlib.sha256).digest()
        out, counter = out + block, counter + 1
    return out[:length]


def chacha20(key, nonce, length, counter=0):
    rotate = lambda x, n: ((x << n) | (x >> (32 - n))) & 0xFFFFFFFF

    def block(counter):
        start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574]
        start += struct.unpack("<8I", key) + (counter,) + struct.unpack("<3I", nonce)
        s = list(start)

        def quarter(a, b, c, d):
            for x, y, z, n in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)]:
                s[x] = (s[x] + s[y]) & 0xFFFFFFFF
                s[z] = rotate(s[z] ^ s[x], n)

        for _ in range(10):
            for i in range(4):
                quarter(i, 4 + i, 8 + i, 12 + i)
            for i in range(4):
                quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
        return struct.pack("<16I", *[(x + y) & 0xFFFFFFFF for x, y in zip(s, start)])

    stream = b"".join(block(counter + i) for i in range(-(-length // 64)))
    return stream[:length]


def check():
    h = bytes.fromhex
    # RFC 7748, section 5.2: one iteration and a thousand.
    k = u = BASE
    for i in range(1000):
        k, u = x25519(k, u), k
        if i == 0:
            assert k == h("422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079")
    assert k == h("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51")
    # RFC 5869, appendix A.1.
    prk = extract(bytes(range(13)), b"\x0b" * 22)
    assert prk == h("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5")
    assert expand(prk, bytes(range(0xF0, 0xFA)), 42) == h(
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    )
    # RFC 8439, section 2.3.2.
    assert chacha20(bytes(range(32)), h("000000090000004a00000000"), 64, 1) == h(
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    )


def key(agent, helper):
    shared = x25519(agent, x25519(helper, BASE))
    assert shared == x25519(helper, x25519(agent, BASE))
    return extract(b"sordino shares 1", shared + x25519(agent, BASE) + x25519(helper, BASE))


def mask(prk, run, epoch, attempt, bits, count):
    info = run + struct.pack("<IIB", epoch, attempt, bits)
    stream = chacha20(expand(prk, info, 32), bytes(12), count * bits // 8)
    size = bits // 8
    return [int.from_bytes(stream[i : i + size], "little") for i in range(0, len(stream), size)]


CASES = [
    # secrets of agent and helper (one byte, repeated), run (one byte, repeated), epoch, attempt, bits, integers
    (1, 2, 7, 0, 0, 32, [700, -40, 3]),
    (3, 2, 7, 1, 5, 32, [(-1) ** i * i * 9999 for i in range(51)]),
    (200, 9, 8, 2**32 - 1, 2**32 - 2, 32, [2**31 - 1, -(2**31), 0, 1]),
    (17, 18, 19, 4, 1, 64, [(-3) ** i for i in range(33)]),
]

if __name__ == "__main__":
    check()
    print("# agent helper run epoch attempt bits | integers | public key of agent, of helper | share | sum of the mask")
    for agent, helper, run, epoch, attempt, bits, integers in CASES:
        secrets = bytes([agent]) * 32, bytes([helper]) * 32
        r = mask(key(*secrets), bytes([run]) * 32, epoch, attempt, bits, len(integers))
        size = bits // 8
        share = b"".join(((x - m) % 2**bits).to_bytes(size, "little") for x, m in zip(integers, r))
        publics = [x25519(secret, BASE).hex() for secret in secrets]
        masks = b"".join(m.to_bytes(size, "little") for m in r)
        print(agent, helper, run, epoch, attempt, bits, "|", *integers, "|", *publics, "|", share.hex(), "|", masks.hex())

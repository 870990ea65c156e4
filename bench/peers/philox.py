"""Random words by Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random
numbers: as easy as 1, 2, 3", SC 2011), and what is made of them."""

import math

WORD = 0xFFFFFFFF


def block(counter: tuple[int, ...], seed: int) -> tuple[int, ...]:
    """Four words."""
    c0, c1, c2, c3 = counter
    k0, k1 = seed & WORD, seed >> 32
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = p1 >> 32 ^ c1 ^ k0, p1 & WORD, p0 >> 32 ^ c3 ^ k1, p0 & WORD
        k0, k1 = k0 + 0x9E3779B9 & WORD, k1 + 0xBB67AE85 & WORD
    return c0, c1, c2, c3


def word(seed: int, step: int, stream: int, example: int, n: int) -> int:
    """Word n of an example, in a stream of a step."""
    return block((n // 4, example, step, stream << 16), seed)[n % 4]


def normal(a: int, b: int) -> float:
    """Of two words by the method of Box and Muller 1958, of each the upper 24 bits."""
    u, v = ((a >> 8) + 1) / 2**24, (b >> 8) / 2**24
    return math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)

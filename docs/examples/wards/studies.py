"""Writes studies.csv: what 60 wards found in ten trials each, at points of their own, in units of their own.

    python3 studies.py > studies.csv
"""

import random

from train import loss

print("study,rate,depth,kind,value")
for ward in range(60):
    own = random.Random(f"trials {ward}")
    for _ in range(10):
        rate, depth = float(f"{10 ** own.uniform(-6, 0):.3g}"), own.randint(1, 12)
        kind = own.choice(["adam", "sgd", "lion"])
        print(f"ward {ward},{rate},{depth},{kind},{loss(ward, rate, depth, kind):.6f}")

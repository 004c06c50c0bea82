#!/usr/bin/env python3
"""What PyTorch needs for one layout, as one line of JSON per way of doing it (run by mixer.py inside its environment).

mixer_peers.py LAYOUT TOKENS HEADS THREADS WAYS SECONDS    WAYS: comma-separated of sdpa, mask, flex64, flex128, backward, memory
"""
import json
import resource
import sys
import time

import torch
import torch.nn.functional as F

WIDTH = 64


def bigbird_blocks(n, seed=0):
    """Block rows as the peers' own tables have them: first and last full, own and both neighbours, three random others."""
    blocks = n // 64
    rng = torch.Generator().manual_seed(seed)
    table = torch.zeros(blocks, blocks, dtype=torch.bool)
    table[0] = table[-1] = True
    table[:, 0] = table[:, -1] = True
    for b in range(blocks):
        for near in (b - 1, b, b + 1):
            if 0 <= near < blocks:
                table[b, near] = True
        others = torch.randperm(blocks, generator=rng)
        table[b, [int(o) for o in others if int(o) != b][:3]] = True
    return table


def make_mask(layout, n):
    """(q, k) -> bool, as FlexAttention and broadcasting both understand it."""
    if layout == "full":
        return lambda q, k: (q >= 0) & (k >= 0)
    if layout == "causal":
        return lambda q, k: q >= k
    if layout == "window":
        return lambda q, k: (q >= k) & (q - k <= 511)
    if layout == "longformer":
        return lambda q, k: ((q - k <= 256) & (k - q <= 256)) | (q == 0) | (k == 0)
    if layout == "bigbird":
        table = bigbird_blocks(n)
        return lambda q, k: table[q // 64, k // 64]
    if layout == "ring":
        return lambda q, k: (q == k) | ((q + 1) % n == k) | ((k + 1) % n == q)
    if layout == "star":
        m = n - 1
        return lambda q, k: (q == 0) | (k == 0) | (q == k) | (q % m + 1 == k) | (k % m + 1 == q)
    if layout in ("swin49", "swin64"):
        size = int(layout[4:])
        return lambda q, k: q // size == k // size
    if layout == "random32":
        generator = torch.Generator().manual_seed(0)
        table = torch.zeros(n, n, dtype=torch.bool)
        for i in range(n):
            table[i, torch.randperm(n, generator=generator)[:32]] = True
        return lambda q, k: table[q, k]
    raise SystemExit(f"no layout is called {layout}")


def fastest(work, seconds):
    work()
    best, end, rounds = 1e30, time.perf_counter() + seconds, 0
    while rounds < 3 or (time.perf_counter() < end and rounds < 1000):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
        rounds += 1
    return best


def main():
    layout, n, heads, threads, ways, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5].split(","), float(sys.argv[6])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    q, k, v, g = ((torch.rand(1, heads, n, WIDTH) - 0.5) * 3.4641 for _ in range(4))
    mask = make_mask(layout, n)
    index = torch.arange(n)
    attempts = {}
    if "sdpa" in ways:
        if layout == "full":
            attempts["SDPA"] = lambda q, k, v: F.scaled_dot_product_attention(q, k, v)
        elif layout == "causal":
            attempts["SDPA causal"] = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)
        elif layout.startswith("swin") and n % int(layout[4:]) == 0:
            size = int(layout[4:])
            fold = lambda x: x.reshape(heads * n // size, 1, size, WIDTH)
            attempts["SDPA windows as batch"] = lambda q, k, v: F.scaled_dot_product_attention(fold(q), fold(k), fold(v)).reshape(q.shape)
    if "mask" in ways:
        dense = mask(index[:, None], index[None, :]).expand(n, n)
        attempts["SDPA with mask"] = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=dense)
    for way in ways:
        if way.startswith("flex"):
            from torch.nn.attention.flex_attention import create_block_mask, flex_attention

            size = int(way[4:])
            start = time.perf_counter()
            block_mask = create_block_mask(lambda b, h, i, j: mask(i, j), None, None, n, n, device="cpu", BLOCK_SIZE=size)
            built = time.perf_counter() - start
            compiled = torch.compile(flex_attention)
            attempts[f"FlexAttention {size}"] = lambda q, k, v, block_mask=block_mask, compiled=compiled: compiled(q, k, v, block_mask=block_mask)
            print(json.dumps({"way": f"block mask {size}", "seconds": built}), flush=True)
    for name, attempt in attempts.items():
        try:
            with torch.no_grad():
                start = time.perf_counter()
                attempt(q, k, v)
                first = time.perf_counter() - start
                result = {"way": name, "first_call_seconds": first, "forward_seconds": fastest(lambda: attempt(q, k, v), seconds)}
            if "backward" in ways and not name.startswith("Flex"):
                for x in (q, k, v):
                    x.requires_grad_(True)

                def both():
                    for x in (q, k, v):
                        x.grad = None
                    attempt(q, k, v).backward(g)

                result["both_seconds"] = fastest(both, seconds)
                for x in (q, k, v):
                    x.requires_grad_(False)
                    x.grad = None
            result["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        except Exception as error:  # a peer that cannot is a finding, not a failure
            result = {"way": name, "failed": str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__}
        print(json.dumps(result), flush=True)


main()

"""One of two workers of a distributed evaluation on CPUs: ``parlai_worker.py RANK PORT OUT …``.

ParlAI's own launchers need a GPU for each worker, because ``all_gather_list`` moves what it
sends to one; here that step is left out, and all else is ParlAI's.
"""

from __future__ import annotations

import json
import sys

import torch
import torch.distributed as dist


def main(rank: int, port: str, out: str, arguments: list[str]) -> None:
    torch.Tensor.cuda = lambda self, *args, **kwargs: self  # type: ignore[method-assign]
    torch.cuda.ByteTensor = torch.ByteTensor
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", world_size=2, rank=rank)

    from parlai_wow import command

    report = command(*arguments)
    found = {name: float(value) for name, value in report.items()}
    with open(f"{out}{rank}.json", "w", encoding="utf-8") as file:
        json.dump(found, file)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:4], sys.argv[4:])

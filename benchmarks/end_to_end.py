"""Parquet to Parquet: our job as a process, against raw batch encode and against other packages."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

import cyclopts

from benchmarks.corpus import documents, size_of, write_parquet
from benchmarks.peers import installed_peers, missing_note
from benchmarks.processes import job_arguments, process_work, run_python
from benchmarks.tables import COMPARISON, Target, comparison, show
from benchmarks.timing import Clock, Cost, Work, interleaved, timed
from benchmarks.vocabulary import provide_vocabularies

BEAM_PEER = "LangChain TokenTextSplitter"


def main(
    *,
    corpus: Path | None = None,
    megabytes: float = 300,
    peer_megabytes: float = 8,
    repeats: int = 3,
    cpu_time: bool = False,
    scratch: Path | None = None,
) -> None:
    """Print a table for the job, and one for plain loops.

    Args:
        corpus: Folder with Parquet or text files; by default Python's own library.
        megabytes: Size of the text.
        peer_megabytes: Size of the text for plain loops over other packages, some of which are slow.
        repeats: How often all is run in turn.
        cpu_time: Judge by processor time instead of time.
        scratch: Folder for input and output, twice the size of the text; by default a temporary one.
    """
    clock: Clock = "cpu" if cpu_time else "wall"
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        root = Path(folder)
        provide_vocabularies(root / "vocabularies")
        texts = documents(corpus, megabytes)
        ours = job_table(texts, root, repeats, clock)
        loop_table(documents(corpus, peer_megabytes), _of_a_megabyte(ours, texts), root)


def job_table(texts: list[str], root: Path, repeats: int, clock: Clock) -> Cost:
    """The job with text and without, against raw encode of the texts in memory and a peer in Beam.

    Returns:
        What the job with text costs, in the middle of the repetitions.
    """
    pattern = write_parquet(root / "input", texts)
    output = root / "output"
    works: dict[str, Work] = {
        "with text": _cleared(output, process_work(*job_arguments(pattern, output))),
        "raw": timed(_raw_encode(texts)),
        "text-free": _cleared(output, process_work(*job_arguments(pattern, output, text=False))),
    }
    if any(peer.name == BEAM_PEER for peer in installed_peers()):
        command = ("-m", "benchmarks.beam_loop", BEAM_PEER, str(pattern), str(output / "chunks"))
        works["Beam"] = _cleared(output, process_work(*command))
    costs = interleaved(works, repeats)
    rows = [
        comparison(f"job, {kind}", name, size_of(texts), (costs[kind], costs[other]), target=target, clock=clock)
        for kind, name, other, target in _TARGETS
        if other in costs
    ]
    notes = [
        f"{size_of(texts):.3g} MB of text in {len(texts)} documents; cl100k_base, 512 tokens, overlap 64, size promise "
        "kept; the job is timed as a process, from the start of Python to its end.",
        f"Medians: {'; '.join(f'{name} {_told(_median(runs))}' for name, runs in costs.items())}.",
        *missing_note(),
    ]
    show("Parquet to Parquet", COMPARISON, rows, notes)
    return _median(costs["with text"])


def _median(costs: list[Cost]) -> Cost:
    return Cost(median(cost.wall for cost in costs), median(cost.cpu for cost in costs))


def _told(cost: Cost) -> str:
    return f"{cost.wall:.1f} s, {cost.cpu:.1f} s of CPU"


_TARGETS = (
    ("with text", "raw encode, all cores", "raw", Target("at most", 2.5)),
    ("text-free", "raw encode, all cores", "raw", Target("at most", 1.8)),
    ("with text", f"Beam + {BEAM_PEER}", "Beam", Target("at least", 8)),
    ("text-free", f"Beam + {BEAM_PEER}", "Beam", Target("at least", 10)),
)


def _cleared(folder: Path, work: Work) -> Work:
    def run() -> Cost:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return work()

    return run


def _raw_encode(texts: list[str]) -> Callable[[], object]:
    """The engine's ids of all documents, in batches of the size that the job reads."""
    import quicktok

    tokenizer = quicktok.get_encoding("cl100k_base")
    batches: list[list[bytes]] = [[]]
    held = 0
    for text in texts:
        encoded = text.encode()
        if held + len(encoded) > _BATCH_BYTES:
            batches.append([])
            held = 0
        batches[-1].append(encoded)
        held += len(encoded)
    return lambda: [tokenizer.encode_batch(batch) for batch in batches]


_BATCH_BYTES = 8 << 20


def loop_table(texts: list[str], ours: Cost, root: Path) -> None:
    """Other packages in plain loops, on less text, against what the job takes for a megabyte."""
    pattern = write_parquet(root / "sample", texts)
    rows = []
    for peer in installed_peers():
        run = run_python("-m", "benchmarks.plain_loop", peer.name, str(pattern), str(root / "loop.parquet"))
        theirs = _of_a_megabyte(Cost(**json.loads(run.output.splitlines()[-1])), texts)
        times = (theirs.wall / ours.wall, theirs.cpu / ours.cpu)
        rows.append((peer.name, f"{1 / theirs.wall:.2f}", *(f"{ratio:.1f}x" for ratio in times)))
    notes = [
        f"On {size_of(texts):.3g} MB, one run, the start of Python not counted; ours is the job with text above, its "
        f"start counted: {1 / ours.wall:.3g} MB/s.",
        *missing_note(),
    ]
    columns = ("package", "MB/s", "their time in ours", "their CPU time in ours")
    show("Plain loops: read with pyarrow, chunk, write", columns, rows, notes)


def _of_a_megabyte(cost: Cost, texts: list[str]) -> Cost:
    return Cost(cost.wall / size_of(texts), cost.cpu / size_of(texts))


if __name__ == "__main__":
    cyclopts.run(main)

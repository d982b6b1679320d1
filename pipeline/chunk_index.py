"""Where in the chunk files each document's rows are, in a few bytes a document. No Beam."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.chunk_files import ChunkFile
from pipeline.schemas import DOC_ID

_BLOCKS_KEPT = 4

# A run is a row of neighbouring rows of one document: key, file, block, first row, rows, first chunk_index.
_RUN = np.dtype([("key", "u8"), ("file", "i4"), ("block", "i4"), ("row", "i4"), ("rows", "i4"), ("index", "i4")])


class ChunkIndex:
    """Finds the rows of documents in chunk files.

    A document's rows usually stand together; where they run on into another table or file, they are joined.

    Args:
        files: Open chunk files.

    Attributes:
        claimed_again: How many documents have claimed rows that an earlier one had claimed.
    """

    def __init__(self, files: Sequence[ChunkFile]) -> None:
        self._files = files
        self._blocks: OrderedDict[tuple[int, int], pa.Table] = OrderedDict()
        places = [(file, block) for file in range(len(files)) for block in range(len(files[file]))]
        runs = [self._runs(file, block) for file, block in places]
        self._index = np.concatenate([np.zeros(0, _RUN), *runs])
        self._index = self._index[np.lexsort((self._index["index"], self._index["key"]))]
        self._keys = np.ascontiguousarray(self._index["key"])
        self._claimed = np.zeros(len(self._index), bool)
        self.claimed_again = 0

    @property
    def rows(self) -> int:
        """Number of rows in all files."""
        return int(self._index["rows"].sum())

    def rows_of(self, doc_id: str) -> pa.Table | None:
        """The chunk rows of a document in the order of `chunk_index`; None if there are none."""
        pieces = [self._read(run) for run in self._index[self._runs_of(doc_id)]]
        if len(pieces) > 1:
            return pa.concat_tables(pieces).sort_by("chunk_index")
        return pieces[0] if pieces else None

    def claim(self, doc_id: str) -> None:
        """Note that there is a document to which rows of this id belong."""
        runs = self._runs_of(doc_id)
        self.claimed_again += bool(self._claimed[runs].any())
        self._claimed[runs] = True

    def unclaimed(self, most: int) -> tuple[int, list[str]]:
        """How many rows belong to documents that nobody has claimed, and the ids of some of those."""
        left = self._index[~self._claimed]
        ids = [self._read(run).column(DOC_ID)[0].as_py() for run in left[:most]]
        return int(left["rows"].sum()), sorted(set(ids))

    def _runs_of(self, doc_id: str) -> slice:
        # of the keys' own type, or all of them would be converted, to numbers that are not exact
        key = np.uint64(_key(doc_id))
        return slice(int(self._keys.searchsorted(key)), int(self._keys.searchsorted(key, side="right")))

    def _read(self, run: npt.NDArray[np.void]) -> pa.Table:
        place = int(run["file"]), int(run["block"])
        if place not in self._blocks:
            self._blocks[place] = self._files[place[0]].read(place[1]).combine_chunks()
            if len(self._blocks) > _BLOCKS_KEPT:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(place)
        return self._blocks[place].slice(int(run["row"]), int(run["rows"]))

    def _runs(self, file: int, block: int) -> npt.NDArray[np.void]:
        table = self._files[file].read(block, [DOC_ID, "chunk_index"])
        doc_ids, index = table.column(DOC_ID).combine_chunks(), table.column("chunk_index").to_numpy()
        begins = np.ones(len(index), bool)
        begins[1:] = pc.not_equal(doc_ids[1:], doc_ids[:-1]).to_numpy(zero_copy_only=False)
        begins[1:] |= index[1:] != index[:-1] + 1
        starts = np.flatnonzero(begins)
        runs = np.zeros(len(starts), _RUN)
        runs["key"] = [_key(doc_id) for doc_id in doc_ids.take(pa.array(starts)).to_pylist()]
        runs["file"], runs["block"], runs["row"], runs["index"] = file, block, starts, index[starts]
        runs["rows"] = np.diff(np.append(starts, len(index)))
        return runs


def _key(doc_id: str) -> int:
    """64 bits for a document's id: among a billion documents two share one with a chance of 3%.

    Rows of both are returned for either then, and `doc_id` in the rows tells them apart.
    """
    return int.from_bytes(hashlib.blake2b(doc_id.encode(), digest_size=8).digest(), "little")

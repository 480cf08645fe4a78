"""PyMuPDF, with one thread for its layout model.

Importing ``pymupdf`` loads the layout model's ONNX sessions, each with as many threads as the
machine has cores. Documents are read side by side, one a process, so those threads would only get
in each other's way. ONNX Runtime has no setting for this outside the options that pymupdf makes for
itself. Whoever imported ``pymupdf`` before has loaded the model already, and keeps it as it is.
"""

from __future__ import annotations

import onnxruntime  # type: ignore[import-untyped]  # ships neither stubs nor py.typed

_Options = onnxruntime.SessionOptions


class _OneThread(onnxruntime.SessionOptions):  # type: ignore[misc]  # its base is untyped
    def __init__(self) -> None:
        super().__init__()
        self.intra_op_num_threads = 1
        self.inter_op_num_threads = 1


onnxruntime.SessionOptions = _OneThread
try:
    import pymupdf
finally:
    onnxruntime.SessionOptions = _Options

__all__ = ["pymupdf"]

"""Tables of Rich Text Format: each row defines its own cells, by their right edges in twips."""

from __future__ import annotations

from ingest.extract.composing import Cell, Row


class Table:
    """Collects the rows of one table; the columns are known when all rows are."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._edges: list[list[int]] = []
        """For each row, the left edge of the first cell and the right edges of all, in twips."""
        self._cells: list[str] = []
        self._merges: list[str] = []
        """For each cell that the row defines: first, merged, above, or nothing."""
        self._defined: list[int] = []
        self._left = 0
        self._pending = ""
        self._header = False

    def define(self, word: str, number: int) -> None:
        """Take in a control word that says how the next row is made; others are ignored."""
        match word:
            case "trowd":
                self._merges, self._defined = [], []
                self._pending, self._header, self._left = "", False, 0
            case "trleft":
                self._left = number
            case "trhdr":
                self._header = True
            case "clmgf" | "clmrg" | "clvmrg" | "clvmgf":
                self._pending = word
            case "cellx":
                self._merges.append(self._pending)
                self._defined.append(number)
                self._pending = ""

    def add_cell(self, text: str) -> None:
        """Add a cell to the row."""
        self._cells.append(text)

    def end_row(self) -> None:
        """End the row with the cells that were added."""
        number = len(self._rows) + 1
        row = Row(header=self._header)
        edges = [self._left, *self._defined]
        while len(edges) <= len(self._cells):
            edges.append(edges[-1] + 1)
        for index, text in enumerate(self._cells):
            # Left and right edge, until all rows are known and give the columns.
            left, right = edges[index], edges[index + 1]
            merge = self._merges[index] if index < len(self._merges) else ""
            if merge == "clmrg" and row.cells:
                row.cells[-1].column_span = right
            elif merge == "clvmrg":
                for above in (cell for earlier in self._rows for cell in earlier.cells):
                    if above.column == left and above.row + above.row_span == number:
                        above.row_span += 1
            else:
                row.cells.append(Cell(text, number, left, column_span=right))
        self._rows.append(row)
        self._edges.append(edges)
        self._cells = []

    def take(self) -> list[Row]:
        """Return the rows with their columns numbered from 1, and begin a new table."""
        if self._cells:
            self.end_row()
        rows, self._rows = self._rows, []
        edges = sorted({edge for row in self._edges for edge in row})
        self._edges = []
        for row in rows:
            row.header = row.header and len(rows) > 1
            for cell in row.cells:
                first, last = edges.index(cell.column), edges.index(cell.column_span)
                cell.column, cell.column_span = first + 1, max(last - first, 1)
        return rows

"""How well and how fast documents are read, against ground truth and against bare engines."""

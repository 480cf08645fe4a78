"""What the quality gate costs: by rows, by the size of batches, and as a share of a run."""

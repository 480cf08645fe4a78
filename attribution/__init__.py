"""The read side: filters over the index, importable without Airflow, torch or PyMuPDF."""

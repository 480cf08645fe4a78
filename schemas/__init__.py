"""The contracts: what a version, a chunk, a point, a source and a run look like.

Everything here is plain Pydantic and importable without Airflow, torch or PyMuPDF.
"""

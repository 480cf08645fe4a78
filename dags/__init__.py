"""Airflow wiring: one DAG a file, nothing heavy imported while it is parsed."""

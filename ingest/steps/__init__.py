"""The steps of a run: plan, fetch, extract, chunk, gate, index, audit, publish, retire, report.

Each takes a pipeline and a reference and returns a reference. None imports Airflow. The modules
import heavy libraries, so a caller imports the step when it runs it.
"""

"""Runs done again from their records: the code of today on the answers of then."""

from greenroom.reruns._recorded_run import read_arguments
from greenroom.reruns._rerun import AtDifference, Program, Rerun, rerun
from greenroom.reruns._rerun_report import print_rerun, report_of

__all__ = ["AtDifference", "Program", "Rerun", "print_rerun", "read_arguments", "report_of", "rerun"]

"""The configuration of a gateway: settings classes, reading of the file, problems by path, effective values."""

from greenroom.gateway.config._check_report import check_report, find_config

__all__ = ["check_report", "find_config"]

"""The configuration of a gateway: settings classes, reading of the file, problems by path, effective values."""

from greenroom.gateway.config._check_report import check_report, find_config
from greenroom.gateway.config._config import GatewayConfig

__all__ = ["GatewayConfig", "check_report", "find_config"]

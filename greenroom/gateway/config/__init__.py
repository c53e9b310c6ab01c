"""The configuration of a gateway: settings classes, reading of the file, problems by path, effective values."""

from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._effective import effective_values
from greenroom.gateway.config._problems import FILE, Problem, Severity
from greenroom.gateway.config._reader import ConfigReading, read_config

__all__ = ["FILE", "ConfigReading", "GatewayConfig", "Problem", "Severity", "effective_values", "read_config"]

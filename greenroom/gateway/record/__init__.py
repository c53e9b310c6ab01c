"""The record of the gateway: its events, what they add up to, and what follows from them after a restart."""

from greenroom.gateway.record._gateway_events import EVENTS

__all__ = ["EVENTS"]

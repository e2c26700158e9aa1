"""One application with its stores, backends and users: bring it up, look at it, take it down."""

from testbed.errors import StackError
from testbed.stack.lifecycle import down, up
from testbed.stack.state import ContainerState, Endpoint, Status, UserProcess, status

__all__ = ["ContainerState", "Endpoint", "StackError", "Status", "UserProcess", "down", "status", "up"]

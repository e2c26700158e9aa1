"""One application with its stores, backends and users: bring it up, look at it, take it down."""

from testbed.errors import StackError
from testbed.stack.compose import reconfigure
from testbed.stack.lifecycle import down, up
from testbed.stack.measure import Limit, Measurement, measure
from testbed.stack.parts import Parts, parts_of
from testbed.stack.project import Project, applications, find_project
from testbed.stack.state import ContainerState, Endpoint, Status, UserProcess, status

__all__ = [
    "ContainerState",
    "Endpoint",
    "Limit",
    "Measurement",
    "Parts",
    "Project",
    "StackError",
    "Status",
    "UserProcess",
    "applications",
    "down",
    "find_project",
    "measure",
    "parts_of",
    "reconfigure",
    "status",
    "up",
]

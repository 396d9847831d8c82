"""The rehearsal: a scripted model on loopback, for demonstrations and for tests.

    with Rehearsal(load_script("default")) as rehearsal:
        ...  # start the CLI with rehearsal.env() in its environment

README.md beside this file says how scripts are written.
"""

from flower.rehearsal.endpoint import Rehearsal
from flower.rehearsal.flaws import ScriptError
from flower.rehearsal.record import Request
from flower.rehearsal.script import Call, Fault, Find, Role, Scene, Script, Turn, Usage, load_script

__all__ = [
    "Call",
    "Fault",
    "Find",
    "Rehearsal",
    "Request",
    "Role",
    "Scene",
    "Script",
    "ScriptError",
    "Turn",
    "Usage",
    "load_script",
]

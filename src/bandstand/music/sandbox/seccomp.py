"""The system-call filter: a small program that the kernel runs before every call of the child.

It sees the machine, the number and the arguments of a call, but not the memory they point to,
so a file's name cannot be judged, but how it is to be opened can. A refused call fails with
EPERM ("Operation not permitted"), as if rights were missing. A filter cannot be taken off again,
and whatever the child starts inherits it.

The program is a list of tests; each that applies ends it:

    load machine; not ours?               kill the process
    load number;  newer than we know?     ENOSYS, as on an older kernel (x32 calls are up there too)
    number = socket?                      EPERM
    number = openat?                      load flags; any that writes? EPERM; allow
    …
    allow
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from bandstand.music.sandbox import syscalls

if TYPE_CHECKING:
    from collections.abc import Iterable

_LOAD, _EQUAL, _ABOVE, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06

ALLOW: Final = 0x7FFF_0000
KILL: Final = 0x8000_0000
_ERROR: Final = 0x0005_0000
REFUSE: Final = _ERROR | errno.EPERM
UNKNOWN: Final = _ERROR | errno.ENOSYS

# struct seccomp_data: number, machine, instruction pointer, six arguments of 64 bits each.
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16

# O_WRONLY, O_RDWR, O_CREAT, O_TRUNC and the bit of O_TMPFILE; the same on both machines.
_OPENED_FOR_WRITING: Final = 0o3 | 0o100 | 0o1000 | 0o20000000
_CLONE_THREAD: Final = 0x0001_0000
# New namespaces, and CLONE_PARENT: a child of our parent that nobody would ever wait for.
_CLONE_ELSEWHERE: Final = 0x7E02_0000 | 0x8000
_PR_SET_PDEATHSIG: Final = 1
# What asks about a descriptor or changes nothing but the descriptor itself. Others could change
# files (chattr, snapshots), type into a terminal, lock a database, or have signals sent to others.
_IOCTLS: Final = (0x5401, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x802C542A)
_FCNTLS: Final = (0, 1, 2, 3, 4, 5, 1030, 1031, 1032, 1034)
_LARGEST_PID: Final = 0x7FFF_FFFF

_SET_MODE_FILTER, _ALL_THREADS = 1, 1


class Instruction(NamedTuple):
    """One step: what to do, how many steps to skip if so and if not, and with which number."""

    code: int
    if_so: int
    if_not: int
    operand: int


class Machine(NamedTuple):
    """A kind of processor: the kernel's name for it, its column of numbers, and one number."""

    audit: int
    column: int
    seccomp: int


MACHINES: Final = {
    "x86_64": Machine(audit=0xC000_003E, column=syscalls.X86_64, seccomp=317),
    "aarch64": Machine(audit=0xC000_00B7, column=syscalls.AARCH64, seccomp=277),
}


def program(
    machine: Machine, *, may_write: bool, may_start_programs: bool, own: int, parent: int
) -> list[Instruction]:
    """Return the filter for a child with process id `own`, started by `parent`."""
    steps = [
        Instruction(_LOAD, 0, 0, _MACHINE),
        Instruction(_EQUAL, 1, 0, machine.audit),
        _end(KILL),
        Instruction(_LOAD, 0, 0, _NUMBER),
        Instruction(_ABOVE, 0, 1, syscalls.LAST_KNOWN),
        _end(UNKNOWN),
    ]
    refused = {**syscalls.NETWORK, **syscalls.CHANGES, **syscalls.OTHERS}
    refused |= {**syscalls.IDENTITY, **syscalls.MACHINE}
    refused |= {} if may_write else syscalls.WRITING
    refused |= {} if may_start_programs else syscalls.PROGRAMS
    verdicts = {name: [_end(REFUSE)] for name in refused}
    verdicts |= {name: [_end(UNKNOWN)] for name in syscalls.UNSEEN}
    verdicts |= _examined(may_start_programs=may_start_programs, own=own, parent=parent)
    if not may_write:
        verdicts["open"] = _refuse_any_bit(1, _OPENED_FOR_WRITING)
        verdicts["openat"] = _refuse_any_bit(2, _OPENED_FOR_WRITING)
    numbers = refused | syscalls.UNSEEN | syscalls.EXAMINED
    for name, verdict in verdicts.items():
        number = numbers[name][machine.column]
        if number is not None:
            steps += [Instruction(_EQUAL, 0, len(verdict), number), *verdict]
    return [*steps, _end(ALLOW)]


def _examined(*, may_start_programs: bool, own: int, parent: int) -> dict[str, list[Instruction]]:
    """Return the verdicts on calls that are judged by their arguments, except opening."""
    if may_start_programs:
        signals = _refuse_equal(0, (0, parent), above=_LARGEST_PID)
        clone = _refuse_any_bit(0, _CLONE_ELSEWHERE)
    else:
        signals = _allow_equal(0, (own,))
        clone = [
            _load(0),
            Instruction(_ANY_BIT, 0, 1, _CLONE_ELSEWHERE),
            _end(REFUSE),
            Instruction(_ANY_BIT, 1, 0, _CLONE_THREAD),
            _end(REFUSE),
            _end(ALLOW),
        ]
    return {
        "kill": signals,
        "tkill": signals,
        "tgkill": signals,
        "clone": clone,
        # Limits of oneself only; the parent has the same owner and could be starved by them.
        "prlimit64": _allow_equal(0, (0,)),
        "prctl": _refuse_equal(0, (_PR_SET_PDEATHSIG,)),
        "ioctl": _allow_equal(1, _IOCTLS),
        "fcntl": _allow_equal(1, _FCNTLS),
    }


def _end(verdict: int) -> Instruction:
    return Instruction(_RETURN, 0, 0, verdict)


def _load(argument: int) -> Instruction:
    # The low half: flags, process ids and commands are all ints, of which the kernel, too,
    # looks at no more. Both machines have it first.
    return Instruction(_LOAD, 0, 0, _ARGUMENTS + 8 * argument)


def _refuse_any_bit(argument: int, bits: int) -> list[Instruction]:
    return [_load(argument), Instruction(_ANY_BIT, 0, 1, bits), _end(REFUSE), _end(ALLOW)]


def _allow_equal(argument: int, values: Iterable[int]) -> list[Instruction]:
    tests = [step for value in values for step in (Instruction(_EQUAL, 0, 1, value), _end(ALLOW))]
    return [_load(argument), *tests, _end(REFUSE)]


def _refuse_equal(
    argument: int, values: Iterable[int], *, above: int | None = None
) -> list[Instruction]:
    tests = [step for value in values for step in (Instruction(_EQUAL, 0, 1, value), _end(REFUSE))]
    if above is not None:
        tests += [Instruction(_ABOVE, 0, 1, above), _end(REFUSE)]
    return [_load(argument), *tests, _end(ALLOW)]


class _Step(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("if_so", ctypes.c_ubyte),
        ("if_not", ctypes.c_ubyte),
        ("operand", ctypes.c_uint),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.POINTER(_Step)))


def install(steps: list[Instruction], machine: Machine) -> None:
    """Put the filter in force for all threads of this process, for good; OSError if refused."""
    array = (_Step * len(steps))(*(_Step(*step) for step in steps))
    filter_ = _Program(len(steps), array)
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    library.syscall.argtypes = [ctypes.c_long, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_void_p]
    status = library.syscall(
        machine.seccomp, _SET_MODE_FILTER, _ALL_THREADS, ctypes.addressof(filter_)
    )
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def this_machine() -> Machine | None:
    """Return the machine that this process runs on, None if there is no filter for it."""
    if not sys.platform.startswith("linux") or sys.maxsize < 1 << 32 or sys.byteorder != "little":
        return None
    return MACHINES.get(platform.machine())

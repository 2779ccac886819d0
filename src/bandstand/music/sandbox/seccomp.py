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

Each entry of a table is a name and its number on x86-64 and on 64-bit ARM, or a dash where a
machine lacks it (ARM left out what newer calls replace). A call in no table is allowed; calls
above `LAST_KNOWN` are answered as an older kernel would. The numbers are part of Linux's promise
to programs and never change.
"""

import ctypes
import errno
import os
import platform
import sys
from collections.abc import Iterable
from typing import Final, NamedTuple

# ── Numbers of system calls ─────────────────────────────────────────────────────────────

Numbers = dict[str, tuple[int | None, int | None]]

X86_64: Final = 0
AARCH64: Final = 1

# mseal, of Linux 6.10; from 424 on all machines count alike.
LAST_KNOWN: Final = 462


def _table(text: str) -> Numbers:
    table: Numbers = {}
    for entry in text.split(","):
        name, x86_64, aarch64 = entry.split()
        table[name] = (_number(x86_64), _number(aarch64))
    return table


def _number(text: str) -> int | None:
    return None if text == "-" else int(text)


# Sockets of any kind: no network, and no service of this machine either.
NETWORK: Final = _table("""
    socket 41 198, socketpair 53 199, connect 42 203, bind 49 200, listen 50 201, accept 43 202,
    accept4 288 242, sendto 44 206, sendmsg 46 211, sendmmsg 307 269, recvfrom 45 207,
    recvmsg 47 212, recvmmsg 299 243, shutdown 48 210, getsockname 51 204, getpeername 52 205,
    setsockopt 54 208, getsockopt 55 209
""")

# Changes to files and folders other than by opening one.
CHANGES: Final = _table("""
    rename 82 -, renameat 264 38, renameat2 316 276, mkdir 83 -, mkdirat 258 34, rmdir 84 -,
    link 86 -, linkat 265 37, unlink 87 -, unlinkat 263 35, symlink 88 -, symlinkat 266 36,
    mknod 133 -, mknodat 259 33, chmod 90 -, fchmod 91 52, fchmodat 268 53, chown 92 -,
    fchown 93 55, lchown 94 -, fchownat 260 54, truncate 76 45, utime 132 -, utimes 235 -,
    futimesat 261 -, utimensat 280 88, setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7,
    removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16, flock 73 32, sync 162 81,
    syncfs 306 267, name_to_handle_at 303 264, open_by_handle_at 304 265, fchmodat2 452 452
""")

# Needed only by a process that may write.
WRITING: Final = _table("""
    creat 85 -, ftruncate 77 46, fallocate 285 47, memfd_create 319 279, memfd_secret 447 447
""")

# New processes and other programs.
PROGRAMS: Final = _table("""
    fork 57 -, vfork 58 -, execve 59 221, execveat 322 281
""")

# Reach into other processes, or leave the group that is ended as a whole.
OTHERS: Final = _table("""
    ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440,
    process_mrelease 448 448, kcmp 312 272, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240,
    pidfd_send_signal 424 424, pidfd_getfd 438 438, setpriority 141 140, ioprio_set 251 30,
    sched_setparam 142 118, sched_setscheduler 144 119, sched_setattr 314 274,
    sched_setaffinity 203 122, migrate_pages 256 238, move_pages 279 239, setsid 112 157,
    setpgid 109 154, shmget 29 194, shmat 30 196, shmctl 31 195, semget 64 190, semop 65 193,
    semtimedop 220 192, semctl 66 191, msgget 68 186, msgsnd 69 189, msgrcv 70 188, msgctl 71 187,
    mq_open 240 180, mq_unlink 241 181, add_key 248 217, request_key 249 218, keyctl 250 219
""")

# Another identity, other rights, another view of the system.
IDENTITY: Final = _table("""
    setuid 105 146, setgid 106 144, setreuid 113 145, setregid 114 143, setresuid 117 147,
    setresgid 119 149, setfsuid 122 151, setfsgid 123 152, setgroups 116 159, capset 126 91,
    personality 135 92, unshare 272 97, setns 308 268, chroot 161 51, pivot_root 155 41,
    mount 165 40, umount2 166 39, open_tree 428 428, move_mount 429 429, fsopen 430 430,
    fsconfig 431 431, fsmount 432 432, fspick 433 433, mount_setattr 442 442
""")

# The machine itself, and the larger of the surfaces for attacks on the kernel.
WHOLE_MACHINE: Final = _table("""
    reboot 169 142, kexec_load 246 104, kexec_file_load 320 294, init_module 175 105,
    finit_module 313 273, delete_module 176 106, iopl 172 -, ioperm 173 -, modify_ldt 154 -,
    swapon 167 224, swapoff 168 225, acct 163 89, sethostname 170 161, setdomainname 171 162,
    settimeofday 164 170, clock_settime 227 112, adjtimex 159 171, clock_adjtime 305 266,
    quotactl 179 60, quotactl_fd 443 443, nfsservctl 180 42, syslog 103 116, vhangup 153 58,
    lookup_dcookie 212 18, uselib 134 -, _sysctl 156 -, sysfs 139 -, bpf 321 280,
    perf_event_open 298 241, userfaultfd 323 282, fanotify_init 300 262, fanotify_mark 301 263,
    io_setup 206 0, io_submit 209 2, vmsplice 278 75, splice 275 76, tee 276 77
""")

# Calls whose meaning is out of the filter's sight, in memory; callers know how to do without.
UNSEEN: Final = _table("""
    clone3 435 435, openat2 437 437, pidfd_open 434 434, io_uring_setup 425 425,
    io_uring_enter 426 426, io_uring_register 427 427
""")

# Calls that are judged by their arguments.
EXAMINED: Final = _table("""
    open 2 -, openat 257 56, clone 56 220, kill 62 129, tkill 200 130, tgkill 234 131,
    prlimit64 302 261, prctl 157 167, ioctl 16 29, fcntl 72 25
""")


# ── The filter ──────────────────────────────────────────────────────────────────────────

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
# New namespaces, and CLONE_PARENT: a child of our parent, which would never wait for it.
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
    "x86_64": Machine(audit=0xC000_003E, column=X86_64, seccomp=317),
    "aarch64": Machine(audit=0xC000_00B7, column=AARCH64, seccomp=277),
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
        Instruction(_ABOVE, 0, 1, LAST_KNOWN),
        _end(UNKNOWN),
    ]
    refused = {**NETWORK, **CHANGES, **OTHERS}
    refused |= {**IDENTITY, **WHOLE_MACHINE}
    refused |= {} if may_write else WRITING
    refused |= {} if may_start_programs else PROGRAMS
    verdicts = {name: [_end(REFUSE)] for name in refused}
    verdicts |= {name: [_end(UNKNOWN)] for name in UNSEEN}
    verdicts |= _examined(may_start_programs=may_start_programs, own=own, parent=parent)
    if not may_write:
        verdicts["open"] = _refuse_any_bit(1, _OPENED_FOR_WRITING)
        verdicts["openat"] = _refuse_any_bit(2, _OPENED_FOR_WRITING)
    numbers = refused | UNSEEN | EXAMINED
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
    """Put the filter in force for all threads of this process, irrevocably; OSError if refused."""
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

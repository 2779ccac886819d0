import errno
import os
from typing import TypedDict

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bandstand.music.sandbox import seccomp
from bandstand.music.sandbox.seccomp import (
    ALLOW,
    KILL,
    MACHINES,
    REFUSE,
    UNKNOWN,
    Instruction,
    Machine,
    program,
    this_machine,
)

OWN, PARENT = 4321, 1234
ALWAYS_REFUSED = (
    seccomp.NETWORK | seccomp.CHANGES | seccomp.OTHERS | seccomp.IDENTITY | seccomp.WHOLE_MACHINE
)
KNOWN = ALWAYS_REFUSED | seccomp.WRITING | seccomp.PROGRAMS | seccomp.UNSEEN | seccomp.EXAMINED
WRITING_FLAGS = [os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC, os.O_TMPFILE & ~os.O_DIRECTORY]
NEW_NAMESPACES = [1 << 17, *(1 << bit for bit in range(25, 31))]
THREAD_FLAGS = 0x3D0F00


class Freedoms(TypedDict):
    write: bool
    start: bool


machines = st.sampled_from(list(MACHINES.values()))
words = st.integers(0, 2**32 - 1)
arguments = st.lists(st.integers(0, 2**64 - 1), min_size=6, max_size=6)
freedoms = st.builds(Freedoms, write=st.booleans(), start=st.booleans())


def built(machine: Machine, *, write: bool = False, start: bool = False) -> list[Instruction]:
    return program(machine, may_write=write, may_start_programs=start, own=OWN, parent=PARENT)


def verdict(steps: list[Instruction], audit: int, number: int, values: list[int]) -> int:
    """Return what the kernel would: the classic BPF machine, as far as filters use it."""
    data = [number, audit, 0, 0]
    for value in values:
        data += [value & 0xFFFF_FFFF, value >> 32]
    at, loaded = 0, 0
    while True:
        code, if_so, if_not, operand = steps[at]
        at += 1
        match code:
            case 0x20:
                loaded = data[operand // 4]
            case 0x15:
                at += if_so if loaded == operand else if_not
            case 0x25:
                at += if_so if loaded > operand else if_not
            case 0x45:
                at += if_so if loaded & operand else if_not
            case 0x06:
                return operand
            case _:
                pytest.fail(f"instruction {code:#x} is not one of a filter")


def judged(
    machine: Machine, name: str, *values: int, write: bool = False, start: bool = False
) -> int:
    number = KNOWN[name][machine.column]
    assert number is not None
    padded = [*values, *[0] * (6 - len(values))]
    return verdict(built(machine, write=write, start=start), machine.audit, number, padded)


@given(machines, words, words, arguments, freedoms)
def test_calls_of_a_foreign_machine_end_the_process(
    machine: Machine, audit: int, number: int, values: list[int], free: Freedoms
) -> None:
    assume(audit != machine.audit)
    assert verdict(built(machine, **free), audit, number, values) == KILL


@given(machines, st.integers(seccomp.LAST_KNOWN + 1, 2**32 - 1), arguments)
def test_newer_calls_do_not_exist(machine: Machine, number: int, values: list[int]) -> None:
    assert verdict(built(machine), machine.audit, number, values) == UNKNOWN


@given(machines, st.sampled_from(sorted(KNOWN)), arguments)
def test_calls_of_the_x32_kind_do_not_exist(machine: Machine, name: str, values: list[int]) -> None:
    number = KNOWN[name][machine.column]
    assume(number is not None)
    assert verdict(built(machine), machine.audit, 0x4000_0000 | (number or 0), values) == UNKNOWN


@given(machines, st.sampled_from(sorted(ALWAYS_REFUSED)), arguments, freedoms)
def test_what_is_refused_is_refused_whatever_the_arguments_and_the_freedoms(
    machine: Machine, name: str, values: list[int], free: Freedoms
) -> None:
    assume(KNOWN[name][machine.column] is not None)
    assert judged(machine, name, *values, **free) == REFUSE


@given(machines, st.sampled_from(sorted(seccomp.UNSEEN)), arguments, freedoms)
def test_calls_that_hide_their_meaning_do_not_exist(
    machine: Machine, name: str, values: list[int], free: Freedoms
) -> None:
    assert judged(machine, name, *values, **free) == UNKNOWN


@given(machines, st.sampled_from(WRITING_FLAGS), words, freedoms)
def test_a_file_is_opened_for_writing_only_by_who_may_write(
    machine: Machine, flag: int, others: int, free: Freedoms
) -> None:
    expected = ALLOW if free["write"] else REFUSE
    assert judged(machine, "openat", 0, 0, flag | others, **free) == expected


@given(machines, words)
def test_a_file_is_opened_for_reading(machine: Machine, flags: int) -> None:
    for flag in WRITING_FLAGS:
        flags &= ~flag
    assert judged(machine, "openat", 0, 0, flags) == ALLOW


def test_the_old_way_of_opening_is_judged_by_its_own_argument() -> None:
    machine = MACHINES["x86_64"]
    assert judged(machine, "open", 0, os.O_WRONLY) == REFUSE
    assert judged(machine, "open", 0, os.O_RDONLY, os.O_WRONLY) == ALLOW


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_threads_start_and_processes_do_not(machine: Machine) -> None:
    assert judged(machine, "clone", THREAD_FLAGS) == ALLOW
    assert judged(machine, "clone", 17) == REFUSE
    assert judged(machine, "clone", 17, start=True) == ALLOW
    assert judged(machine, "execve") == REFUSE
    assert judged(machine, "execve", start=True) == ALLOW


@given(machines, st.sampled_from([*NEW_NAMESPACES, 0x8000]), words, freedoms)
def test_no_process_leaves_the_group(
    machine: Machine, flag: int, others: int, free: Freedoms
) -> None:
    assert judged(machine, "clone", flag | others, **free) == REFUSE


@given(machines, st.sampled_from(["kill", "tkill", "tgkill"]), words)
def test_signals_reach_only_oneself(machine: Machine, name: str, target: int) -> None:
    assume(target != OWN)
    assert judged(machine, name, OWN, 9) == ALLOW
    assert judged(machine, name, target, 9) == REFUSE


@given(machines, st.sampled_from(["kill", "tkill", "tgkill"]), st.integers(-(2**31), 0))
def test_who_starts_programs_signals_them_but_no_groups_and_not_the_parent(
    machine: Machine, name: str, group: int
) -> None:
    assert judged(machine, name, 99, 9, start=True) == ALLOW
    assert judged(machine, name, PARENT, 9, start=True) == REFUSE
    assert judged(machine, name, group % 2**32, 9, start=True) == REFUSE


@given(machines, words)
def test_limits_are_changed_only_of_oneself(machine: Machine, target: int) -> None:
    assert judged(machine, "prlimit64", target) == (ALLOW if target == 0 else REFUSE)


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_descriptors_are_asked_about_but_not_used_to_change_other_things(machine: Machine) -> None:
    terminal_size, type_into_terminal, set_flags = 0x5413, 0x5412, 0x40086602
    assert judged(machine, "ioctl", 0, terminal_size) == ALLOW
    assert judged(machine, "ioctl", 0, type_into_terminal) == REFUSE
    assert judged(machine, "ioctl", 3, set_flags) == REFUSE
    get_flags, set_lock, set_owner, set_signal, set_lease = 3, 6, 8, 10, 1024
    assert judged(machine, "fcntl", 3, get_flags) == ALLOW
    for command in (set_lock, set_owner, set_signal, set_lease):
        assert judged(machine, "fcntl", 3, command) == REFUSE


@given(machines, st.integers(0, seccomp.LAST_KNOWN), arguments, freedoms)
def test_every_call_meets_a_verdict_and_unnamed_ones_pass(
    machine: Machine, number: int, values: list[int], free: Freedoms
) -> None:
    met = verdict(built(machine, **free), machine.audit, number, values)
    named = {numbers[machine.column] for numbers in KNOWN.values()}
    assert met in ({ALLOW, REFUSE, UNKNOWN} if number in named else {ALLOW})


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_no_two_calls_share_a_number(machine: Machine) -> None:
    numbers = [pair[machine.column] for pair in KNOWN.values() if pair[machine.column] is not None]
    assert len(numbers) == len(set(numbers))


def test_newer_calls_have_the_same_number_everywhere() -> None:
    for name, (x86_64, aarch64) in KNOWN.items():
        if (x86_64 or 0) >= 424 or (aarch64 or 0) >= 424:
            assert x86_64 == aarch64, name


def test_a_refused_call_says_that_it_is_not_permitted() -> None:
    assert REFUSE & 0xFFFF == errno.EPERM
    assert UNKNOWN & 0xFFFF == errno.ENOSYS


def test_a_machine_without_a_filter_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "pdp11")
    assert this_machine() is None
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("sys.platform", "linux")
    assert this_machine() == MACHINES["x86_64"]
    monkeypatch.setattr("sys.platform", "darwin")
    assert this_machine() is None

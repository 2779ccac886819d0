"""The numbers of the system calls that the filter knows, on x86-64 and on 64-bit ARM.

Each entry is a name and its number on either machine, or a dash where a machine lacks it (ARM
left out what newer calls replace). What is named nowhere here is allowed; calls above
`LAST_KNOWN` are answered as an older kernel would answer them.

The numbers are part of Linux's promise to programs and never change.
"""

from __future__ import annotations

from typing import Final

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

# What only somebody needs who may write.
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
MACHINE: Final = _table("""
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

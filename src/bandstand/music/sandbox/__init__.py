"""Limited child processes: JSON in, JSON out, whatever the data does to the code that reads it.

Pool              some children that serve requests with one task, `module:function`
Limits            how much memory, time and freedom each of them has
Answer, Failure   the outcomes of a request

A decoder of strangers' files may loop, eat all memory, crash, or be taken over by a file made
for that. So it works in a child that has no network, changes no file, starts no program, and
ends when its time is over; whatever happens there costs one request its answer, and no more.

Not promised: a child serves many requests, so a file that takes its child over can also falsify
the answers to the requests that follow in that same child, until it is replaced. Reading is not
restricted either: a child may open whatever this user may read, but can pass it on only in its
answer. The caller must therefore examine the answers.

`pool` and `worker` run in the parent, `child`, `confinement` and `seccomp` in the child; both use
`protocol`.
"""

from bandstand.music.sandbox.pool import Pool
from bandstand.music.sandbox.protocol import Answer, Failure, Limits

__all__ = ["Answer", "Failure", "Limits", "Pool"]

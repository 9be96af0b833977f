# SPDX-License-Identifier: GPL-2.0
"""The workloads of accuracy, each with the facts needed to judge it."""
import re
from typing import NamedTuple


class Pattern(NamedTuple):
    """A workload that knows its truth.

    key       name on the command line
    title     in the table
    command   "12T" in it is that many aggregation intervals in ms, "9/T" a rate
              per interval; FILE is on a disk
    cls       wsmon's class for the memory it is about
    core      one of the quick suite
    located   the map of regions is compared as well
    fresh     it does not stay the same kind of thing: a new one for each measurement
    windows      windows, in aggregation intervals; a row of the table each
    """
    key: str
    title: str
    command: str
    cls: str = "anon"
    core: bool = False
    located: bool = False
    fresh: bool = False
    windows: tuple = (1,)


# An offset: blocks do not begin where a cell of the monitor does.
AT = "--offset 102420K"
THP = " on huge pages"

PATTERNS = [
    Pattern("contig-1M", "1 MiB contiguous", "hotset --hot 1M " + AT, located=True),
    Pattern("contig-8M", "8 MiB contiguous", "hotset --hot 8M " + AT, core=True, located=True),
    Pattern("contig-64M", "64 MiB contiguous", "hotset --hot 64M " + AT, core=True,
            located=True),
    Pattern("contig-400M", "400 MiB contiguous", "hotset --hot 400M --offset 51220K",
            located=True),
    Pattern("stride-2", "every 2nd page", "hotset --pattern stride:2"),
    Pattern("stride-16", "every 16th page", "hotset --pattern stride:16", core=True),
    Pattern("stride-64", "every 64th page", "hotset --pattern stride:64"),
    Pattern("random-0.5", "random 0.5 % of pages", "hotset --pattern random:0.5"),
    Pattern("random-5", "random 5 % of pages", "hotset --pattern random:5", core=True),
    Pattern("random-50", "random half of pages", "hotset --pattern random:50"),
    Pattern("blocks-64K", "alternate 64 KiB blocks", "hotset --pattern blocks:64K",
            located=True),
    Pattern("blocks-256K", "alternate 256 KiB blocks", "hotset --pattern blocks:256K",
            core=True, located=True),
    Pattern("blocks-3M", "alternate 3 MiB blocks", "hotset --pattern blocks:3M", located=True),
    Pattern("zipf", "zipf over pages", "patterns zipf --rate 10000/T --period-ms 4"),
    Pattern("zigzag", "moving block of 64 MiB", "patterns zigzag --hold-ms 20T"),
    Pattern("stairs", "stairs up to 256 MiB", "patterns stairs --hold-ms 8T", located=True),
    Pattern("phases", "phases of random size", "patterns phases --hold-ms 8T", core=True,
            located=True),
    Pattern("heap", "growing heap",
            "patterns heap --size 768M --count 60 --hold-ms 1T", cls="heap", core=True,
            fresh=True),
    Pattern("thp-contig-64M", "64 MiB contiguous" + THP, "hotset --thp --hot 64M " + AT,
            core=True, located=True),
    Pattern("thp-contig-400M", "400 MiB contiguous" + THP,
            "hotset --thp --hot 400M --offset 51220K", located=True),
    Pattern("thp-random", "random 40 %" + THP, "hotset --thp --pattern random:0.1"),
    Pattern("thp-blocks-3M", "3 MiB blocks" + THP, "hotset --thp --pattern blocks:3M",
            located=True),
    Pattern("thp-zipf", "zipf" + THP, "patterns zipf --thp --rate 200/T"),
    Pattern("thp-zigzag", "moving block" + THP, "patterns zigzag --thp --hold-ms 20T"),
    Pattern("thp-stairs", "stairs" + THP, "patterns stairs --thp --hold-ms 8T", located=True),
    Pattern("thp-phases", "phases" + THP, "patterns phases --thp --hold-ms 8T", located=True),
    Pattern("thp-heap", "growing heap" + THP,
            "patterns heap --thp --size 768M --count 60 --hold-ms 1T", cls="heap", fresh=True),
    Pattern("shared", "shared by two processes", "patterns shared", cls="shmem"),
    Pattern("thp-shared", "shared by two" + THP, "patterns shared --thp", cls="shmem"),
    Pattern("fork", "fork, copy on write", "patterns fork"),
    Pattern("file", "file larger than its memory",
            "patterns file --file FILE --limit 256M --rate 4M/T", cls="file"),
    Pattern("hugetlb", "hugetlb", "patterns hugetlb", cls="hugetlb"),
    Pattern("reserve", "256 MiB in 1 TiB PROT_NONE", "patterns reserve", core=True),
    Pattern("reserve-rw", "256 MiB in 1 TiB reserved", "patterns reserve --rw"),
    Pattern("vmas", "3000 small mappings", "patterns vmas"),
    Pattern("stacks", "stacks of 64 threads", "patterns stacks"),
    Pattern("once", "touched once each 3 windows", "patterns once --period-ms 3T",
            windows=(1, 10)),
    Pattern("restless", "8 MiB, never resting", "hotset --hot 8M --period-ms 0 " + AT,
            core=True, located=True),
]


class Find(NamedTuple):
    """A small hot block in a large mapping, to be found."""
    key: str
    title: str
    command: str
    limit: int		# seconds


FINDS = [
    Find("find-200M", "200 MiB in 160 GiB, huge zero page",
         "patterns sparse --size 160G --hot 200M", 30),
    Find("find-200M-empty", "200 MiB in 160 GiB, not populated",
         "patterns sparse --size 160G --hot 200M --no-fill", 30),
    Find("find-1M", "1 MiB in 64 GiB, huge zero page",
         "patterns sparse --size 64G --hot 1M", 60),
    Find("find-1M-empty", "1 MiB in 64 GiB, not populated",
         "patterns sparse --size 64G --hot 1M --no-fill", 60),
]


def command(pattern, aggr_ms, seed, disk):
    """The words of the command, without the output of the truth."""
    text = re.sub(r"\b(\d+)M/T\b", lambda m: "%dK" % (int(m[1]) * 1024000 // aggr_ms),
                  pattern.command)
    text = re.sub(r"\b(\d+)/T\b", lambda m: str(int(m[1]) * 1000 // aggr_ms), text)
    text = re.sub(r"\b(\d+)T\b", lambda m: str(int(m[1]) * aggr_ms), text)
    words = text.replace("FILE", disk).split()
    if "--period-ms" not in words:
        # a window includes several rounds, even if one of them is late
        words += ["--period-ms", str(aggr_ms // 4)]
    windows = [str(window * aggr_ms) for window in getattr(pattern, "windows", (1,))]
    words += ["--window" if words[0] == "hotset" else "--window-ms", ",".join(windows)]
    return words + ["--seed", str(seed), "--seconds", "0", "--truth-ms", "10"]

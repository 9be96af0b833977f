# SPDX-License-Identifier: GPL-2.0
"""wsmo act: schemes, as written and as shown."""
from command import fails, ok, run
from victim import objects


def test_schemes():
    for name, actions in (("reclaim", ["pageout"]), ("thp", ["hugepage", "nohugepage"])):
        res = run("act", "-s", name, "--show", "--json")
        rules = objects(res, "scheme")
        ok(res.returncode == 0 and not res.stderr and [x["action"] for x in rules] == actions,
           "preset " + name, res)
    res = run("act", "--show", "--json", "-s", "/dev/stdin", stdin=b"""
# a comment
  4K 2MiB 1% 12.5% 500ms 1m30s stat # another
\tnull null null null null null pageout\r
min max min max min max cold
0 18446744073709551615 0% 100% 0 5 willneed
""")
    rules = objects(res, "scheme")
    for rule in rules:
        del rule["type"], rule["rule"]
    ok(rules[:2] == [
        {"line": 3, "min_size": 4096, "max_size": 2 << 20, "min_share": 0.01, "max_share": 0.125,
         "min_freq": None, "max_freq": None,
         "min_age_ns": 500 * 10**6, "max_age_ns": 90 * 10**9, "action": "stat"},
        {"line": 4, "min_size": 0, "max_size": None, "min_share": 0.0, "max_share": 1.0,
         "min_freq": None, "max_freq": None,
         "min_age_ns": 0, "max_age_ns": None, "action": "pageout"}] and
       rules[2]["min_size"] == 0 and rules[2]["max_age_ns"] is None and
       rules[3]["max_age_ns"] == 5 * 10**9, "sizes, shares, times, comments", *rules, res.stderr)
    res = run("act", "--show", "--json", "-s", "/dev/stdin", stdin=b"""
4K null 1% 5% 5s null pageout
 min-size\tmax-size min-freq max-freq min-age max-age action # from here on
4K null 1% 5% 5s null pageout
min-size max-size min-share max-share min-age max-age action
4K null 1% 5% 5s null pageout
min_sz max_sz min_acc max_acc min_age max_age action
4K max 1 5 5s max pageout
4K max min min max max stat
""")
    bounds = [[rule[k] for k in ("min_share", "max_share", "min_freq", "max_freq")]
              for rule in objects(res, "scheme")]
    ok(bounds == 2 * [[0.01, 0.05, None, None], [None, None, 0.01, 0.05]] +
       [[None, None, 0, 0]] and objects(res, "scheme")[4]["min_age_ns"] == 2**64 - 1 and
       # rule 3 by 1, 4 by 2: a share hides no rate
       res.stderr.count(b"is never applied") == 2, "names of columns", bounds, res.stderr)
    freq = b"min-size max-size min-freq max-freq min-age max-age action\n"
    damon = b"min_sz max_sz min_acc max_acc min_age max_age action\n"
    good = b"4K null null 5% 5s null pageout"
    for text, where, words in (
            (b"", "", "has no rules"),
            (b"# nothing\n\n", "", "has no rules"),
            (b"4K", ":1:3", "max-size is missing"),
            (b"\n4K null null 5% 5s null", ":2:24", "action is missing"),
            (good + b" twice", ":1:33", "only a comment may follow"),
            (good + b"\n\n  4X null null 5% 5s null pageout", ":3:3", "'4X' is not a size"),
            (b"4K -1 null 5% 5s null pageout", ":1:4", "'-1' is not a size"),
            (b"4K 16777216T null 5% 5s null pageout", ":1:4", "too large"),
            (b"4K 99999999999999999999 null 5% 5s null pageout", ":1:4", "too large"),
            (b"4K null 5 5% 5s null pageout", ":1:9", "'5' is not a share"),
            (b"4K null null 101% 5s null pageout", ":1:14", "'101%' is not a share"),
            (b"4K null null nan% 5s null pageout", ":1:14", "not a share"),
            (b"4K null null 0x5% 5s null pageout", ":1:14", "not a share"),
            (b"4K null null 5% 5q null pageout", ":1:17", "'5q' is not a time"),
            (b"4K null null 5% 5s null evict", ":1:25", "'evict' is not an action"),
            (b"2M 4K null 5% 5s null pageout", ":1:4", "max-size is less"),
            (b"2M min null 5% 5s null pageout", ":1:4", "max-size is less"),
            (b"4K null 9% 5% 5s null pageout", ":1:12", "max-share is less than min-share"),
            (freq + b"4K null null 101% 5s null pageout", ":2:14", "max-freq '101%' is not a rate"),
            (freq + b"4K null 9 5 5s null pageout", ":2:11", "max-freq is less than min-freq"),
            (damon + b"4K null 5x 5 5s null pageout", ":2:9", "min_acc '5x' is not a rate"),
            (damon + b"4K null", ":2:8", "min_acc is missing; a rule is: min_sz"),
            (b"4K null null 5 5s null pageout", ":1:14", "above the rules of a DAMON scheme put its column names"),
            (freq, "", "has no rules"),
            (b"4K null null 5% 5s 4s pageout", ":1:20", "max-age is less"),
            (b"4K null null 5% 5s null " + 90 * b"x", ":1:25", "too long"),
            (good + b"\n4K \0 null", ":2:4", "NUL"),
            ((good + b"\n") * 33, ":33:1", "more than 32 rules")):
        res = run("act", "--show", "-s", "/dev/stdin", stdin=text)
        fails(res, "bad scheme: %s" % words, "/dev/stdin" + where + ":", words, status=2)
    fails(run("act", "--show", "-s", "nosuch"), "no such scheme", "nosuch", "preset", status=2)
    fails(run("act", "--show", "-s", "/"), "a directory for a scheme", status=2)

# SPDX-License-Identifier: GPL-2.0
"""From export to a fleet's dashboard: export writes files, Debian's node_exporter reads them,
Debian's prometheus scrapes it, and every query of the dashboard in contrib/ has an answer."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import records as r
from command import HERE, TOP, WSMO, Directory, every, ok, run, skip, wait_for
from fakedevice import Device
from fakemodule import Stream, now
from test_export import start

# Values of the queries' variables in Grafana: all of each, and the default window
VARIABLES = {"$instance": ".+", "$comm": ".+", "$cgroup": ".+", "$window": "0.1"}


def command(*args):
    return [os.path.join(HERE, "prometheus"), *args]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(port, path, **params):
    url = "http://127.0.0.1:%d%s?%s" % (port, path, urllib.parse.urlencode(params, doseq=True))
    try:
        with urllib.request.urlopen(url, timeout=10) as f:
            return f.read().decode()
    except (urllib.error.URLError, ConnectionError) as e:
        return str(e)


def query(port, expr):
    """Return: the samples, or the error"""
    text = get(port, "/api/v1/query", query=expr)
    try:
        return json.loads(text)["data"]["result"]
    except (ValueError, KeyError):
        return text


def dashboard():
    """Return: the queries of panels; (metric, label) of variables"""
    with open(os.path.join(TOP, "contrib", "grafana-wsmon.json")) as f:
        board = json.load(f)
    ok(len({p["id"] for p in board["panels"]}) == len(board["panels"]) and
       every(p["description"] for p in board["panels"]), "the panels are explained")
    exprs = [t["expr"] for panel in board["panels"] for t in panel["targets"]]
    values = [re.fullmatch(r"label_values\((.*), (\w+)\)", v["query"]["query"]).groups()
              for v in board["templating"]["list"] if v["type"] == "query"]
    return exprs, values


def concrete(expr):
    for name, value in VARIABLES.items():
        expr = expr.replace(name, value)
    assert "$" not in expr, expr
    # two scrapes, a second apart, not minutes
    return re.sub(r"\[\d+m\]", "[1m]", expr)


class Files:
    """Both exporters, for processes and for cgroups, write into one directory"""

    def __init__(self, d):
        os.mkdir(d.path("debugfs"))
        os.mkdir(d.path("device"))
        os.mkdir(d.path("files"))
        self.path = d.path("files")
        debugfs = Directory()
        debugfs.__enter__()
        self.debugfs = debugfs
        me = os.getpid()
        self.stream = Stream(debugfs, [(me, cls, 5 << 20, 10 << 20, 0.1) for cls in ("all", "heap")],
                             cpu_ns=10**9, more=r.peak(now(), me, 1, edge=1, end_ns=10**9))
        self.device_dir = Directory()
        self.device = Device(self.device_dir.__enter__())
        for i in range(3):
            self.device.cgroup("/kubepods.slice/cri-%d.scope" % (i + 1), (i + 20) << 20)
        self.processes = [
            start(debugfs, "-o", os.path.join(self.path, "wsmon.prom"), "--interval", "200ms"),
            subprocess.Popen([WSMO, "export", "openmetrics", "--live", "--cgroups", "/", "-o",
                              os.path.join(self.path, "cgroups.prom"), "--interval", "200ms"],
                             stderr=subprocess.PIPE, env=self.device.env)]

    def texts(self):
        out = []
        for name in "wsmon.prom", "cgroups.prom":
            try:
                with open(os.path.join(self.path, name)) as f:
                    out.append(f.read())
            except FileNotFoundError:
                out.append("")
        return out

    def whole(self):
        """Are all metrics in both files?"""
        return all("wsmon_working_set_bytes{" in text for text in self.texts())

    def close(self):
        for p in self.processes:
            p.send_signal(signal.SIGTERM)
            err = p.communicate(timeout=20)[1]
            ok(p.returncode == 0 and not err, "an exporter ends", p.returncode, err)
        self.stream.close()
        self.device.close()
        self.debugfs.__exit__(None, None, None)
        self.device_dir.__exit__(None, None, None)


class Servers:
    """node_exporter and prometheus"""

    def __init__(self, d, textfiles):
        self.node, self.port = free_port(), free_port()
        d.write("prometheus.yml", (
            "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
            "scrape_configs:\n- job_name: node\n  static_configs: [{targets: ['127.0.0.1:%d']}]\n" %
            self.node).encode())
        log = open(d.path("log"), "wb")
        self.processes = [subprocess.Popen(args, stdout=log, stderr=log) for args in (
            command("prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
                    "--collector.textfile.directory=" + textfiles,
                    "--web.listen-address=127.0.0.1:%d" % self.node),
            command("prometheus", "--config.file=" + d.path("prometheus.yml"),
                    "--storage.tsdb.path=" + d.path("tsdb"),
                    "--web.listen-address=127.0.0.1:%d" % self.port))]
        log.close()

    def close(self):
        for p in self.processes:
            p.terminate()
        for p in self.processes:
            p.wait(30)


def lint(name, text):
    res = subprocess.run(command("promtool", "check", "metrics"), input=text.encode(),
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    ok(text and res.returncode == 0 and not res.stdout, "promtool finds nothing in " + name,
       res.returncode, res.stdout.decode())


def queries(port):
    exprs, values = dashboard()
    ok(len(exprs) > 10, "the dashboard has queries", exprs)
    for expr in exprs:
        told = []

        def answered(expr=expr, told=told):
            told[:] = [query(port, concrete(expr))]
            return isinstance(told[0], list) and told[0]
        ok(wait_for(answered, 15), "an answer: " + expr, str(told)[:500])
    for metric, label in values:
        text = get(port, "/api/v1/label/%s/values" % label, **{"match[]": concrete(metric)})
        ok('"data":["' in text, "values of " + label, text[:500])
    for metric, wanted in (("wsmon_working_set_bytes", 1), ("wsmon_working_set_low_bytes", 0)):
        got = {x["metric"]["cgroup"]: int(x["value"][1]) for x in
               query(port, metric + '{cgroup!="",class="all"}')}
        ok(len(got) == 3 and all(v == int(k[-7]) * 2**20 - (0 if wanted else 4096)
                                 for k, v in got.items()), metric + " of each cgroup", got)


def test_unit():
    if not shutil.which("systemd-analyze"):
        skip("systemd-analyze", "is not installed")
        return
    with open(os.path.join(TOP, "contrib", "wsmon-export.service")) as f:
        text = f.read()
    args = re.search(r"^ExecStart=wsmo (.*)", text, re.M).group(1)
    options = re.search(r'^Environment="OPTIONS=(.*)"', text, re.M).group(1)
    with Directory() as d:
        path = d.path("wsmon-export.service")
        d.write("wsmon-export.service", text.replace("ExecStart=wsmo ", "ExecStart=/bin/true ").encode())
        res = subprocess.run(["systemd-analyze", "verify", "--man=no", path],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        ok(res.returncode == 0 and not res.stdout, "systemd accepts the unit", res.stdout.decode())
    # the options are valid: only the device is missing
    res = run(*args.replace("$OPTIONS", options).replace("/var/lib/prometheus/node-exporter", "/nowhere").split(),
              "--window", "junk")
    ok(res.returncode == 2 and b"junk" in res.stderr, "and wsmo its options", res)


def test_scraped(d):
    files = Files(d)
    ok(wait_for(files.whole), "figures are written", *files.texts())
    for name, text in zip(("the file of processes", "that of cgroups"), files.texts()):
        lint(name, text)
    servers = Servers(d, files.path)
    try:
        ok(wait_for(lambda: isinstance(query(servers.port, "up == 1"), list) and
                    query(servers.port, "up == 1"), 30), "prometheus scrapes node_exporter",
           d.read("log").decode()[-2000:])
        text = get(servers.node, "/metrics")
        ok("node_textfile_scrape_error 0" in text, "node_exporter reads both files", text[:500])
        began = time.monotonic()
        queries(servers.port)
        print("# queries took %.1f s" % (time.monotonic() - began))
    finally:
        servers.close()
    files.close()

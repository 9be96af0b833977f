// SPDX-License-Identifier: GPL-2.0
/*
 * page.js - draws the page of "wsmo report html" from the JSON in it
 */
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const recording = data.summary.find(x => x.type === "recording");

const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colorOf = cls => css("--class-" + cls) || css("--dim");
const byId = id => document.getElementById(id);

function size(bytes, shown = x => x.toFixed(1)) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
	let i = 0;

	if (bytes === null || bytes === undefined)
		return "-";
	for (; bytes >= 1023.95 && i < units.length - 1; i++)
		bytes /= 1024;
	return (i ? shown(bytes) : bytes.toFixed(0)) + " " + units[i];
}

/* For an axis: not rounded, because the number would then be at the wrong place */
const tick = bytes => size(bytes, x => String(+x.toFixed(2)));

function time(us) {
	if (us >= 1e6)
		return +(us / 1e6).toFixed(1) + " s";
	return us >= 1e3 ? +(us / 1e3).toFixed(1) + " ms" : +us.toFixed(1) + " us";
}

const percent = share => share === null ? "-" : (100 * share).toFixed(1) + " %";
/* The group's total has no pid */
const who = pid => pid ? `${data.names[pid] || ""} (${pid})` : `${data.group} (total)`;

function element(tag, text, cls) {
	const e = document.createElement(tag);

	if (text !== undefined)
		e.textContent = text;
	if (cls)
		e.className = cls;
	return e;
}

/* Make a table of rows of texts: headings first; the first @words columns are words */
function table(id, rows, words) {
	const t = byId(id);

	if (rows.length < 2)
		t.replaceWith(element("p", "Nothing was recorded for this."));
	rows.forEach((cells, n) => {
		const tr = element("tr");

		cells.forEach((cell, i) => tr.append(element(n ? "td" : "th", cell,
			i < words ? "text" : "")));
		t.append(tr);
	});
}

function tables() {
	const of = type => data.summary.filter(x => x.type === type);
	const memory = new Map(of("memory").map(m => [m.pid, m]));

	table("short", [["process", "window", "working set", "95 % interval", "most", "at",
			 "resident", "not in use"]].concat(
		of("wss_summary").filter(x => x.class === "all").map(x => {
			const rss = memory.get(x.pid) ? memory.get(x.pid).rss_mean : null;

			return [who(x.pid), time(x.window_us), size(x.mean),
				size(x.low) + " to " + size(x.high), size(x.peak),
				x.peak_t.toFixed(1) + " s", size(rss),
				rss ? percent(Math.max(0, 1 - x.mean / rss)) : "-"];
		})), 1);
	table("sizes", [["process", "class", "window", "0 %", "25 %", "50 %", "75 %",
			 "95 %", "100 %"]].concat(
		data.percentiles.flatMap(x => [
			[who(x.pid), x.class, time(x.window_us), ...x.of.map(p => size(p[1]))],
			["", "", "at most", ...x.of.map(p => size(p[2]))]])), 2);
	table("recording", [["", ""]].concat(Object.entries({
		"recorded": recording.date, "ended": recording.ended,
		"length": time(recording.duration_ns / 1e3),
		"intervals": recording.intervals,
		"sampling, aggregation": time(recording.sample_us) + ", " + time(recording.aggr_us),
		"cost, of one CPU": percent(recording.cpu),
		"records": recording.records,
		"records lost": recording.lost_records,
		"late rounds": `${recording.late_rounds} of ${recording.rounds}`,
		"missed visits": recording.missed,
		"page checks": recording.checks,
		"time in TLB flushes": recording.flush_ns === null ? "-" : time(recording.flush_ns / 1e3),
		"longest hold of a lock": recording.max_hold_ns === null ? "-" : time(recording.max_hold_ns / 1e3),
	}).map(([k, v]) => [k, v === null || v === undefined ? "-" : String(v)])), 1);
	for (const m of memory.values())
		if (m.secondary_mmu)
			byId("when").after(element("p", `${who(m.pid)} has a secondary MMU: what ` +
				"only its guest or a device accesses reads as idle.", "why"));
	byId("when").textContent =
		`${recording.date}, ${time(recording.duration_ns / 1e3)}, ` +
		`${recording.intervals} intervals; ` + (recording.lost_records ?
		`${recording.lost_records} records were lost` : "no record was lost");
}

/* Tics of an axis of sizes are at powers of two */
const binary = { incrs: Array.from({ length: 60 }, (_, i) => 2 ** i) };

/* The parts of a process's chart: uPlot's options of each curve, and its points */
function curvesOf(pid, windowUs) {
	const list = [];

	for (const s of data.wss.filter(x => x.pid === pid && x.window_us === windowUs)) {
		const color = colorOf(s.class);
		const t = s.points.map(p => p[0]);

		list.push({ label: s.class, stroke: color, points: [t, s.points.map(p => p[1])],
			width: s.class === "all" ? 2 : 1 });
		if (s.class !== "all")
			continue;
		list.push({ label: "low", stroke: color + "60", width: 1,
			points: [t, s.points.map(p => p[2])], low: true });
		list.push({ label: "high", stroke: color + "60", width: 1,
			points: [t, s.points.map(p => p[3])], high: true });
	}
	for (const s of data.rss.filter(x => x.pid === pid))
		list.push({ label: "resident", stroke: css("--dim"), dash: [6, 4], width: 1.5,
			points: [s.points.map(p => p[0]), s.points.map(p => p[1])] });
	return list;
}

/* Peaks of a process, and marks: their times and names, in order of time */
function eventsOf(pid) {
	const peaks = data.peaks.filter(p => p.pid === pid);

	return [...peaks.filter((p, i) => !i || peaks[i - 1].from !== p.from)
			.map(p => ({ t: p.from, name: (p.sign < 0 ? "dip " : "peak ") + p.number })),
		...data.marks.map(m => ({ t: m.t, name: "mark " + m.number }))]
		.sort((a, b) => a.t - b.t);
}

/* Height of the line of names above the chart */
const namesOf = pid => data.marks.length || data.peaks.some(p => p.pid === pid) ? 18 : 0;

/* Draw lines from top to bottom, and names above those whose names do not overlap */
function drawEvents(c, pid, x, left, right, top, bottom, ratio) {
	let free = -Infinity;

	c.save();
	c.font = `${11 * ratio}px system-ui, sans-serif`;
	c.textAlign = "left";
	c.textBaseline = "bottom";
	c.lineWidth = ratio;
	c.setLineDash([3 * ratio, 3 * ratio]);
	c.strokeStyle = c.fillStyle = css("--event");
	for (const e of eventsOf(pid)) {
		const at = x(e.t);

		if (at < left - ratio || at > right + ratio)
			continue;
		c.beginPath();
		c.moveTo(at, top - 4 * ratio);
		c.lineTo(at, bottom);
		c.stroke();
		const width = c.measureText(e.name).width;
		const from = Math.min(Math.max(left, at - width / 2), right - width);

		if (from < free)
			continue;
		c.fillText(e.name, from, top - 4 * ratio);
		free = from + width + 8 * ratio;
	}
	c.restore();
}

function chart(box, pid, windowUs) {
	const list = curvesOf(pid, windowUs);
	const low = list.findIndex(x => x.low), high = list.findIndex(x => x.high);
	const axis = { stroke: css("--dim"), grid: { stroke: css("--line"), width: 1 },
		ticks: { stroke: css("--line"), width: 1 } };
	const options = {
		width: box.clientWidth, height: 320, padding: [namesOf(pid) || null, null, null, null],
		scales: { x: { time: false }, y: { range: (u, min, max) => [0, max * 1.05 || 1] } },
		axes: [{ ...axis, label: "time, s", labelSize: 20 },
			{ ...axis, size: 80, values: (u, ticks) => ticks.map(tick),
			  ...binary }],
		series: [{ label: "time", value: (u, v) => v === null ? "-" : v.toFixed(1) + " s" },
			...list.map(c => ({ label: c.label, stroke: c.stroke, width: c.width,
				dash: c.dash, spanGaps: true, points: { show: c.points[0].length === 1 },
				value: (u, v) => size(v) }))],
		hooks: { draw: [u => drawEvents(u.ctx, pid, t => u.valToPos(t, "x", true),
			u.bbox.left, u.bbox.left + u.bbox.width, u.bbox.top,
			u.bbox.top + u.bbox.height, uPlot.pxRatio)] },
		bands: low < 0 ? [] : [{ series: [high + 1, low + 1], fill: colorOf("all") + "40" }],
	};

	return new uPlot(options, uPlot.join(list.map(c => c.points)), box);
}

/* A chart of a line and its confidence band; c says which scales are logarithmic */
function bandChart(box, c) {
	const axis = { stroke: css("--dim"), grid: { stroke: css("--line"), width: 1 },
		ticks: { stroke: css("--line"), width: 1 } };
	const edge = { stroke: colorOf("all") + "60", width: 1, points: { show: false } };

	return new uPlot({
		width: box.clientWidth, height: 280,
		scales: { x: { time: false, distr: c.x.log ? 3 : 1, range: c.x.range },
			y: { distr: c.y.log ? 3 : 1, range: c.y.range } },
		axes: [{ ...axis, ...c.x.axis, label: c.x.label, labelSize: 20,
			 values: (u, t) => t.map(c.x.text) },
			{ ...axis, ...c.y.axis, label: c.y.label, labelSize: 20, size: 80,
			  values: (u, t) => t.map(c.y.text) }],
		series: [{ label: c.x.label, value: (u, v) => c.x.text(v) },
			{ label: c.y.label, stroke: colorOf("all"), width: 2, value: (u, v) => c.y.text(v) },
			{ ...edge, label: "low", value: (u, v) => c.y.text(v) },
			{ ...edge, label: "high", value: (u, v) => c.y.text(v) }],
		bands: [{ series: [3, 2], fill: colorOf("all") + "40" }],
	}, c.data, box);
}

const seconds = s => s === null ? "" : time(1e6 * s);
const count = n => n === null ? "" : n < 9.95 ? n.toFixed(1) : n.toFixed(0);
const shownSize = v => v === null ? "" : tick(v);

function curveOf(box, of) {
	const column = i => of.points.map(p => p[i]);
	const last = of.points[of.points.length - 1];

	return bandChart(box, {
		x: { label: "window", log: true, text: seconds, range: [of.points[0][0], last[0]],
			axis: { splits: () => column(0), filter: (u, splits) => splits } },
		y: { label: "working set", text: shownSize, axis: binary, range: [0, Math.max(...column(3)) * 1.05 || 1] },
		data: [0, 1, 2, 3].map(column),
	});
}

function limitsOf(box, of) {
	/* 0 has no logarithm */
	const column = i => of.line.map(row => Math.max(0.1, row.of[i] || 0));

	return bandChart(box, {
		x: { label: "limit", text: shownSize, axis: { ...binary, space: 80 }, range: [0, of.line[of.line.length - 1].of[0] || 1] },
		y: { label: "refaults a second", log: true, text: count },
		data: [of.line.map(row => row.of[0]), column(2), column(3), column(4)],
	});
}

function limitsTable(of) {
	const t = element("table"), box = element("div", undefined, "wide");

	box.append(t);
	t.id = "limits" + of.pid + of.class;
	byId("sizing").append(box);
	table(t.id, [["limit", "of resident", "keeps", "refaults a second", "95 % interval", "missed",
		      ""]].concat(of.rows.map(({ of: r, bound, knee }) => [
		size(r[0]), of.rss > 0 ? percent(r[0] / of.rss) : "-", bound ? "-" : seconds(r[1]),
		bound === 0 ? count(r[2]) : bound === 1 ? "below " + count(r[4]) : "above " + count(r[3]),
		bound === 0 ? count(r[3]) + " to " + count(r[4]) : "-",
		bound ? "-" : percent(r[5]), knee ? "enough" : ""])), 0);
}

function sizing() {
	const to = byId("sizing");

	if (!data.sizing.length)
		to.append(element("p", "It takes three windows at least, each observed for a quarter more " +
			"than it is long: record for five minutes with 'wsmo record --sizing'."));
	for (const of of data.sizing) {
		const pair = element("div", undefined, "pair");

		to.append(element("h3", (of.pid ? who(of.pid) : "all together") +
			(of.class === "all" ? "" : ", " + of.class)), pair);
		for (const draw of [curveOf, limitsOf]) {
			const box = element("div");

			pair.append(box);
			whenSeen(box, () => draw(box, of));
		}
		limitsTable(of);
	}
}

function hot() {
	const rows = [];

	for (const map of data.maps) {
		const cells = shares(map);

		for (const b of map.sections) {
			const of = cells.subarray(b.line * map.fine * map.columns,
				(b.line + b.lines) * map.fine * map.columns).filter(x => x >= 0);
			const mean = of.reduce((sum, x) => sum + x, 0) / (of.length || 1);

			rows.push([mean * b.bytes, who(map.pid), b.class, b.name || "-", size(b.bytes),
				percent(mean), size(mean * b.bytes)]);
		}
	}
	rows.sort((a, b) => b[0] - a[0]);
	table("hot", [["process", "class", "mapping", "size", "share in use", "in use"]].concat(
		rows.slice(0, 20).map(r => r.slice(1))), 3);
}

function hotRegions() {
	let of = "";

	table("regions", [["process", "class", "address", "what", "size", "share in use",
			   "accessed", "most", "at"]].concat(data.hot.map(r => {
		const name = who(r.pid) === of ? "" : who(r.pid);
		const what = [r.path.replace(/.*\//, "") || (r.tid ? "stack of thread " + r.tid : ""),
			r.symbols && r.symbols.split(", ").slice(0, 3).map(s => s.replace(/ \d+$/, ""))
				.join(", "), r.source.replace(/.*\//, "")];

		of = who(r.pid);
		return [name, r.class, "0x" + r.start.toString(16), what.filter(x => x).join(": ") || "-",
			size(r.size), percent(r.share), percent(r.freq), percent(r.hottest),
			r.hottest_t.toFixed(1) + " s"];
	})), 4);
}

/* Half a cell: the share that was read, or the share that was written */
function half(share, how) {
	const e = element("div", share >= 0.0005 ? percent(share) : "");

	e.style.setProperty("--half", `var(--${how})`);
	e.style.setProperty("--level", share ? 100 * Math.sqrt(share / data.touched.max) + "%" : "0%");
	return e;
}

function touched() {
	const { threads, objects, cells } = data.touched, row = (...of) => {
		const tr = element("tr");

		tr.append(...of);
		byId("threads").append(tr);
	};
	const nodes = data.who.some(r => r.remote);

	byId("touched").hidden = !data.who.length;
	table("who", [["share", "95 % interval", "reads", "writes", "first", ...nodes ? ["remote"] : [],
		       "process", "thread", "function", "object"]].concat(data.who.map(r => [
		percent(r.share), percent(r.low) + " to " + percent(r.high), String(r.reads),
		String(r.writes), String(r.first), ...nodes ? [percent(r.remote)] : [], who(r.pid),
		`${r.comm} (${r.tid})`, r.code, r.object || "-"])), 0);
	row(element("th"), ...objects.map(o => element("th", o.name)));
	row(element("th"), ...objects.map(o => element("td", percent(o.share))));
	threads.forEach((t, y) => row(element("th", t.name), ...objects.map((o, x) => {
		const td = element("td"), [read, written] = cells[y * objects.length + x];

		td.title = `${t.name}, ${o.name}: ${percent(read)} read, ${percent(written)} written`;
		td.append(half(read, "read"), half(written, "written"));
		return td;
	}), element("td", percent(t.share))));
}

/* Boxes that are drawn when they come near the visible part, and the functions that draw them */
const drawings = new Map();
const watcher = new IntersectionObserver(
	seen => seen.filter(e => e.isIntersecting).forEach(e => drawNow(e.target)),
	{ rootMargin: "800px" });

function drawNow(box) {
	const d = drawings.get(box);

	watcher.unobserve(box);
	if (d.plot)
		d.plot.destroy();
	d.plot = d.draw(box);
}

function whenSeen(box, draw) {
	drawings.set(box, { draw });
	watcher.observe(box);
}

function drawAnew() {
	for (const box of drawings.keys()) {
		watcher.unobserve(box);
		watcher.observe(box);
	}
}

/* A cgroup is recorded as a whole: there are no addresses of processes */
if (data.wss.length && !data.wss.some(s => s.pid))
	for (const id of ["maps", "hot", "regions"])
		byId(id).closest("section").hidden = true;
tables();
hot();
hotRegions();
touched();
byId("events").hidden = !data.stacks;
byId("stacks").textContent = data.stacks;
sizing();
const drawn = new Set();

for (const s of data.wss) {
	const key = s.pid + " " + s.window_us, box = element("div", undefined, "curve");

	if (drawn.has(key))
		continue;
	drawn.add(key);
	byId("curves").append(element("h3", `${who(s.pid)}, window ${time(s.window_us)}`), box);
	whenSeen(box, () => chart(box, s.pid, s.window_us));
}
for (const map of data.maps) {
	const box = byId("maps");

	box.append(element("h3", who(map.pid)));
	const heatmap = new Heatmap(box, map);

	whenSeen(heatmap.canvas, () => heatmap.draw());
	scale(box);
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAnew);
window.addEventListener("beforeprint", () => [...drawings.keys()].forEach(drawNow));
let width = window.innerWidth;

window.addEventListener("resize", () => {
	if (window.innerWidth === width)
		return;
	width = window.innerWidth;
	drawAnew();
});

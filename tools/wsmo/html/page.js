// SPDX-License-Identifier: GPL-2.0
/*
 * page.js - draws the page of "wsmo report html" from the JSON in it
 */
"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const recording = data.summary.find(x => x.type === "recording");

/* matplotlib's viridis, and colours of Okabe and Ito: fit for colour-blind eyes */
const viridis = [[68, 1, 84], [72, 40, 120], [62, 73, 137], [49, 104, 142],
	[38, 130, 142], [31, 158, 137], [53, 183, 121], [110, 206, 88],
	[181, 222, 43], [253, 231, 37]];
const colors = {
	all: "#0072b2", text: "#cc79a7", data: "#e69f00", heap: "#d55e00",
	stack: "#8c6d1f", anon: "#009e73", file: "#56b4e9", shmem: "#b58900",
	hugetlb: "#7f7f7f", mixed: "#a0a0a0",
};

const css = name => getComputedStyle(document.documentElement).getPropertyValue(name);
const byId = id => document.getElementById(id);

function size(bytes) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
	let i = 0;

	if (bytes === null || bytes === undefined)
		return "-";
	for (; bytes >= 1023.95 && i < units.length - 1; i++)
		bytes /= 1024;
	return (i ? bytes.toFixed(1) : bytes.toFixed(0)) + " " + units[i];
}

function time(us) {
	if (us >= 1e6)
		return +(us / 1e6).toFixed(1) + " s";
	return us >= 1e3 ? +(us / 1e3).toFixed(1) + " ms" : +us.toFixed(1) + " us";
}

const percent = share => share === null ? "-" : (100 * share).toFixed(1) + " %";
const who = pid => `${data.names[pid] || ""} (${pid})`;

function element(tag, text, cls) {
	const e = document.createElement(tag);

	if (text !== undefined)
		e.textContent = text;
	if (cls)
		e.className = cls;
	return e;
}

/* Rows of texts; the first are headings, as many columns as told are words */
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

			return [who(x.pid), time(1e3 * x.tau_ms), size(x.mean),
				size(x.low) + " to " + size(x.high), size(x.peak),
				x.peak_t.toFixed(1) + " s", size(rss),
				rss ? percent(Math.max(0, 1 - x.mean / rss)) : "-"];
		})), 1);
	table("sizes", [["process", "class", "window", "0 %", "25 %", "50 %", "75 %",
			 "95 %", "100 %"]].concat(
		data.percentiles.flatMap(x => [
			[who(x.pid), x.class, time(x.tau_us), ...x.of.map(p => size(p[1]))],
			["", "", "at most", ...x.of.map(p => size(p[2]))]])), 2);
	table("recording", [["", ""]].concat(Object.entries({
		"recorded": recording.start, "ended": recording.end,
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
	byId("when").textContent =
		`${recording.start}, ${time(recording.duration_ns / 1e3)}, ` +
		`${recording.intervals} intervals; ` + (recording.lost_records ?
		`${recording.lost_records} records were lost` : "no record was lost");
}

/* What a process's chart is made of: uPlot's options of each curve, and points */
function curvesOf(pid, tau) {
	const list = [];

	for (const s of data.wss.filter(x => x.pid === pid && x.tau_us === tau)) {
		const color = colors[s.class] || "#888888";
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

function chart(box, pid, tau) {
	const list = curvesOf(pid, tau);
	const low = list.findIndex(x => x.low), high = list.findIndex(x => x.high);
	const axis = { stroke: css("--dim"), grid: { stroke: css("--line"), width: 1 },
		ticks: { stroke: css("--line"), width: 1 } };
	const options = {
		width: box.clientWidth, height: 320,
		scales: { x: { time: false }, y: { range: (u, min, max) => [0, max * 1.05 || 1] } },
		axes: [{ ...axis, label: "time, s", labelSize: 20 },
			{ ...axis, size: 80, values: (u, ticks) => ticks.map(size),
			  incrs: Array.from({ length: 60 }, (_, i) => 2 ** i) }],
		series: [{ label: "time", value: (u, v) => v === null ? "-" : v.toFixed(1) + " s" },
			...list.map(c => ({ label: c.label, stroke: c.stroke, width: c.width,
				dash: c.dash, spanGaps: true, points: { show: c.points[0].length === 1 },
				value: (u, v) => size(v) }))],
		bands: low < 0 ? [] : [{ series: [high + 1, low + 1], fill: colors.all + "40" }],
	};

	return new uPlot(options, uPlot.join(list.map(c => c.points)), box);
}

const color = level => {
	const x = level * (viridis.length - 1), i = Math.min(Math.floor(x), viridis.length - 2);

	return viridis[i].map((c, k) => Math.round(c + (viridis[i + 1][k] - c) * (x - i)));
};

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+";

/* Shares of a map's cells, lowest address first; negative is not mapped */
function shares(map) {
	return Float32Array.from(map.cells, c => {
		const level = letters.indexOf(c) / (letters.length - 1);

		return c === "." ? -1 : level * level;
	});
}

/* The picture of all cells, the highest address on top */
function paint(map, cells) {
	const canvas = element("canvas");
	const context = canvas.getContext("2d");
	const image = context.createImageData(map.columns, map.rows);

	canvas.width = map.columns;
	canvas.height = map.rows;
	for (let y = 0; y < map.rows; y++)
		for (let x = 0; x < map.columns; x++) {
			const share = cells[(map.rows - 1 - y) * map.columns + x];

			if (share >= 0)
				image.data.set([...color(Math.sqrt(share)), 255],
					4 * (y * map.columns + x));
		}
	context.putImageData(image, 0, 0);
	return canvas;
}

/* A map that is drawn on a canvas, and what of it is seen: cells, from the top left */
class Heatmap {
	constructor(box, map) {
		this.map = map;
		this.cells = shares(map);
		this.picture = paint(map, this.cells);
		this.canvas = element("canvas", undefined, "map");
		box.append(this.canvas);
		this.all();
		this.canvas.addEventListener("pointermove", e => this.move(e));
		this.canvas.addEventListener("pointerdown", e => { this.from = this.cell(e); });
		this.canvas.addEventListener("pointerup", e => this.zoom(this.cell(e)));
		this.canvas.addEventListener("pointerleave", () => { byId("tip").hidden = true; });
		this.canvas.addEventListener("dblclick", () => { this.all(); this.draw(); });
	}

	all() {
		this.view = { x: 0, y: 0, w: this.map.columns, h: this.map.rows };
	}

	/* Pixels beside and below the cells */
	margins() {
		return { left: this.canvas.clientWidth < 600 ? 70 : 190, below: 22 };
	}

	cell(event) {
		const box = this.canvas.getBoundingClientRect(), m = this.margins();
		const x = (event.clientX - box.left - m.left) / (box.width - m.left);
		const y = (event.clientY - box.top) / (box.height - m.below);

		return { x: Math.floor(this.view.x + x * this.view.w),
			y: Math.floor(this.view.y + y * this.view.h), inside: x >= 0 && y < 1 };
	}

	zoom(to) {
		const from = this.from;

		this.from = null;
		if (!from || Math.abs(from.x - to.x) < 3 || Math.abs(from.y - to.y) < 2)
			return;
		const x = Math.max(0, Math.min(from.x, to.x)), y = Math.max(0, Math.min(from.y, to.y));

		this.view = { x, y,
			w: Math.min(this.map.columns - x, Math.abs(from.x - to.x) + 1),
			h: Math.min(this.map.rows - y, Math.abs(from.y - to.y) + 1) };
		this.draw();
	}

	bandAt(row) {
		return this.map.bands.find(b => row >= b.line * this.map.fine &&
			row < (b.line + b.lines) * this.map.fine);
	}

	text(at) {
		const map = this.map, row = map.rows - 1 - at.y, b = this.bandAt(row);
		const step = (map.to - map.from) / map.columns;
		const t = (map.from + at.x * step).toFixed(1) + " s";

		if (!b) {
			const above = map.bands.find(x => (x.line - 1) * map.fine <= row &&
				row < x.line * map.fine);

			return above ? size(above.fold) + " not mapped" : "";
		}
		const share = this.cells[row * map.columns + at.x];

		return `${t}: ` + (share < 0 ? "not mapped then" : percent(share) + " accessed") +
			` - ${b.class} ${b.name} from ${b.at[row - b.line * map.fine]}`;
	}

	move(event) {
		const at = this.cell(event), tip = byId("tip");
		const text = at.inside && at.x >= 0 && at.y >= 0 ? this.text(at) : "";

		tip.hidden = !text;
		tip.textContent = text;
		tip.style.left = Math.min(event.clientX + 14,
			window.innerWidth - tip.offsetWidth - 8) + "px";
		tip.style.top = event.clientY + 14 + "px";
	}

	draw() {
		const canvas = this.canvas, ratio = window.devicePixelRatio || 1;
		const width = canvas.clientWidth, m = this.margins();
		const height = 5 * this.map.rows + m.below;

		canvas.style.height = height + "px";
		canvas.width = width * ratio;
		canvas.height = height * ratio;
		const c = canvas.getContext("2d");

		c.scale(ratio, ratio);
		c.imageSmoothingEnabled = false;
		const v = this.view, w = width - m.left, h = height - m.below;

		c.drawImage(this.picture, v.x, v.y, v.w, v.h, m.left, 0, w, h);
		this.marks(c, m, w, h);
	}

	marks(c, m, w, h) {
		const map = this.map, v = this.view, line = h / v.h;
		const y = row => (map.rows - row - v.y) * line;

		c.font = "12px system-ui, sans-serif";
		c.textBaseline = "middle";
		for (const b of map.bands) {
			const top = y((b.line + b.lines) * map.fine), bottom = y(b.line * map.fine);
			const middle = (Math.max(top, 0) + Math.min(bottom, h)) / 2;
			const label = m.left > 100 ? `${b.class} ${size(b.bytes)} ${b.name}` : b.class;

			if (b.fold) {
				c.fillStyle = css("--fold");
				c.fillRect(m.left, bottom, w, map.fine * line);
				c.fillStyle = css("--dim");
				c.fillText(size(b.fold) + " not mapped", m.left + w / 3,
					bottom + map.fine * line / 2);
			}
			c.fillStyle = css("--text");
			if (bottom - top >= 11 && middle > 0 && middle < h)
				c.fillText(label, 0, middle, m.left - 6);
		}
		c.fillStyle = css("--dim");
		c.textBaseline = "bottom";
		const marks = Math.max(2, Math.floor(w / 110));

		for (let i = 0; i <= marks; i++) {
			const t = map.from + (map.to - map.from) * (v.x + v.w * i / marks) / map.columns;

			c.textAlign = i ? i === marks ? "right" : "center" : "left";
			c.fillText(t.toFixed(1) + " s", m.left + w * i / marks, h + m.below - 2);
		}
		c.textAlign = "left";
	}
}

function scale(box) {
	const line = element("div", undefined, "scale");
	const strip = element("i");

	strip.style.background = `linear-gradient(90deg, ${viridis.map(c => `rgb(${c})`)})`;
	line.append("0 %", strip, "100 % of the pages (the scale is its square root)");
	box.append(line);
}

function hot() {
	const rows = [];

	for (const map of data.maps) {
		const cells = shares(map);

		for (const b of map.bands) {
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

const charts = [], maps = [];

function drawAll() {
	for (const c of charts.splice(0))
		c.plot.destroy();
	for (const box of document.querySelectorAll(".curve"))
		charts.push({ box, plot: chart(box, +box.dataset.pid, +box.dataset.tau) });
	maps.forEach(m => m.draw());
}

tables();
hot();
const drawn = new Set();

for (const s of data.wss) {
	const key = s.pid + " " + s.tau_us, box = element("div", undefined, "curve");

	if (drawn.has(key))
		continue;
	drawn.add(key);
	box.dataset.pid = s.pid;
	box.dataset.tau = s.tau_us;
	byId("curves").append(element("h3", `${who(s.pid)}, window ${time(s.tau_us)}`), box);
}
for (const map of data.maps) {
	const box = byId("maps");

	box.append(element("h3", who(map.pid)));
	maps.push(new Heatmap(box, map));
	scale(box);
}
drawAll();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
let width = window.innerWidth;

window.addEventListener("resize", () => {
	if (window.innerWidth === width)
		return;
	width = window.innerWidth;
	drawAll();
});
})();

// SPDX-License-Identifier: GPL-2.0
/*
 * heatmap.js - the maps of addresses and time in the page of "wsmo report html"
 *
 * page.js, which follows in the page, makes them and defines the helpers.
 */
"use strict";
/* matplotlib's viridis, also for colour-blind readers */
const viridis = [[68, 1, 84], [72, 40, 120], [62, 73, 137], [49, 104, 142],
	[38, 130, 142], [31, 158, 137], [53, 183, 121], [110, 206, 88],
	[181, 222, 43], [253, 231, 37]];

const color = level => {
	const x = level * (viridis.length - 1), i = Math.min(Math.floor(x), viridis.length - 2);

	return viridis[i].map((c, k) => Math.round(c + (viridis[i + 1][k] - c) * (x - i)));
};

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+";

/* Shares of a map's cells, lowest address first; -1: not mapped, -2: not observed */
function shares(map) {
	return Float32Array.from(map.cells, c => {
		const level = letters.indexOf(c) / (letters.length - 1);

		return c === "/" ? -2 : c === "." ? -1 : level * level;
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
			else if (share < -1)
				image.data.set([128, 128, 128, (x + y) % 3 ? 40 : 120],
					4 * (y * map.columns + x));
		}
	context.putImageData(image, 0, 0);
	return canvas;
}

/* A map on a canvas, and its visible part: cells, from the top left */
class Heatmap {
	constructor(box, map) {
		this.map = map;
		this.cells = shares(map);
		this.canvas = element("canvas", undefined, "map");
		this.height = 5 * map.rows + namesOf(map.pid) + 22;
		this.canvas.style.height = this.height + "px";
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

	/* Pixels beside, above and below the cells */
	margins() {
		return { left: this.canvas.clientWidth < 600 ? 70 : 190,
			above: namesOf(this.map.pid), below: 22 };
	}

	cell(event) {
		const box = this.canvas.getBoundingClientRect(), m = this.margins();
		const x = (event.clientX - box.left - m.left) / (box.width - m.left);
		const y = (event.clientY - box.top - m.above) / (box.height - m.above - m.below);

		return { x: Math.floor(this.view.x + x * this.view.w),
			y: Math.floor(this.view.y + y * this.view.h), inside: x >= 0 && y >= 0 && y < 1 };
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

	sectionAt(row) {
		return this.map.sections.find(b => row >= b.line * this.map.fine &&
			row < (b.line + b.lines) * this.map.fine);
	}

	text(at) {
		const map = this.map, row = map.rows - 1 - at.y, b = this.sectionAt(row);
		const step = (map.to - map.from) / map.columns;
		const t = (map.from + at.x * step).toFixed(1) + " s";

		if (!b) {
			const above = map.sections.find(x => (x.line - 1) * map.fine <= row &&
				row < x.line * map.fine);

			return above ? size(above.fold) + " not mapped" : "";
		}
		const share = this.cells[row * map.columns + at.x];

		return `${t}: ` + (share < -1 ? "not observed then" : share < 0 ? "not mapped then" : percent(share) + " accessed") +
			` - ${b.class} ${b.name} from ${b.at[row - b.line * map.fine]}`;
	}

	move(event) {
		const at = this.cell(event), tip = byId("tip");
		const text = at.inside ? this.text(at) : "";

		tip.hidden = !text;
		tip.textContent = text;
		tip.style.left = Math.min(event.clientX + 14,
			window.innerWidth - tip.offsetWidth - 8) + "px";
		tip.style.top = event.clientY + 14 + "px";
	}

	draw() {
		const canvas = this.canvas, ratio = window.devicePixelRatio || 1;
		const width = canvas.clientWidth, m = this.margins();
		const height = this.height;

		this.picture = this.picture || paint(this.map, this.cells);
		canvas.width = width * ratio;
		canvas.height = height * ratio;
		const c = canvas.getContext("2d");

		c.scale(ratio, ratio);
		c.translate(0, m.above);
		c.imageSmoothingEnabled = false;
		const v = this.view, w = width - m.left, h = height - m.above - m.below;

		c.drawImage(this.picture, v.x, v.y, v.w, v.h, m.left, 0, w, h);
		this.marks(c, m, w, h);
		const step = (this.map.to - this.map.from) / this.map.columns;

		drawEvents(c, this.map.pid,
			t => m.left + ((t - this.map.from) / step - v.x) / v.w * w,
			m.left, m.left + w, 0, h, 1);
	}

	marks(c, m, w, h) {
		const map = this.map, v = this.view, line = h / v.h;
		const y = row => (map.rows - row - v.y) * line;

		c.font = "12px system-ui, sans-serif";
		c.textBaseline = "middle";
		for (const b of map.sections) {
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

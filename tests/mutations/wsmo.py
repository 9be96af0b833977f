# SPDX-License-Identifier: GPL-2.0
"""Mistakes made on purpose in wsmo, as list.py has them of the module: each with the
suite of tests/wsmo that must notice it, on this machine."""

LIB, CLI, ACT = "tools/libwsmon/", "tools/wsmo/cli/", "tools/wsmo/act/"
READER, SORTED, AREAS = (LIB + n + ".c" for n in ("reader", "sorted", "areas"))
CURVE, SIZING, HOT, SERIES, RANGES = (
    LIB + "numbers/" + n + ".c" for n in ("curve", "sizing", "hot", "series", "ranges"))
FINE, POINTS, TREE, ORIGIN = (
    LIB + "fine/" + n + ".c" for n in ("fine", "points", "tree", "origin"))
UNITS, TEXT, BAR, OUTFILE, TABLE = (
    CLI + n + ".c" for n in ("units", "text", "bar", "outfile", "table"))
LIMITS, EVIDENCE, MATCH, GOAL = (ACT + n + ".c" for n in ("limits", "evidence", "match", "goal"))
FILE, REPORT, DIFF = "tools/wsmo/record/file/", "tools/wsmo/report/", "tools/wsmo/diff/"

# (name, suites, file, what it says, what it is to say)
MISTAKES = [
    # bounds of records
    ("reader_takes_longer_snapshots", "damage.broken", READER,
     "if (s->nr > (s->rec.size - sizeof(*s)) / sizeof(s->regions[0]))",
     "if (s->nr > s->rec.size / sizeof(s->regions[0]))"),
    ("reader_takes_reversed_areas", "damage.broken", READER, "if (a->start >= a->end)",
     "if (a->start > a->end + 4096)"),
    ("reader_takes_reversed_regions", "damage.broken", READER, "if (e->start >= e->end)",
     "if (e->start > e->end + 4096)"),
    ("reader_takes_shares_above_one", "damage.broken", READER,
     "if (e->share > WSMON_SHARE_ONE || e->freq > WSMON_SHARE_ONE)",
     "if (e->share > WSMON_SHARE_ONE && e->freq > WSMON_SHARE_ONE)"),
    ("reader_takes_endless_names", "damage.broken", READER,
     "if (!memchr(target->comm, '\\0', sizeof(target->comm)))",
     "if (!target->comm[0] && target->comm[1])"),
    ("reader_takes_odd_sizes", "damage.broken", READER,
     "if (next->size < sizeof(*next) || next->size % 8 ||", "if (next->size < sizeof(*next) ||"),
    ("reader_takes_newer_versions", "damage.foreign", READER, "if (h.version > WSMON_VERSION)",
     "if (h.version > WSMON_VERSION + 1)"),
    ("reader_keeps_cut_silent", "damage.cut_notes", READER,
     "		return READER_CUT;\n", "		return READER_END;\n"),
    ("reader_loses_pids_of_areas", "report", READER,
     "	case WSMON_REC_AREA:\n	case WSMON_REC_SNAPSHOT:\n	case WSMON_REC_WSS:\n",
     "	case WSMON_REC_SNAPSHOT:\n	case WSMON_REC_WSS:\n"),
    # what holds rows
    ("sorted_array_is_not_sorted", "hot report", SORTED, "			low = mid + 1;\n		} else {",
     "			low = high;\n		} else {"),
    ("sorted_array_removes_the_next", "fine.records", SORTED,
     "memmove(p, p + s->size, end - p - s->size);",
     "memmove(p + s->size, p, end - p - s->size);"),
    ("paths_of_another_area", "report", AREAS, "|| !t->paths[index])\n		return \"\";\n"
     "	return t->paths[index];", "|| !t->paths[index])\n		return \"\";\n"
     "	return t->paths[index ? index - 1 : 0] ?: \"\";"),
    ("percentile_of_the_next_rank", "wss", SERIES, "return &series[rank ? rank - 1 : 0];",
     "return &series[rank < nr ? rank : nr - 1];"),
    ("sorted_by_size_backwards", "wss", SERIES, "return a->bytes < b->bytes ? -1 : 1;",
     "return a->bytes > b->bytes ? -1 : 1;"),
    ("ranges_mapped_twice", "heatmap", RANGES,
     "		if (i < s->nr && s->range[i].start < end)\n			stop = s->range[i].start;\n", ""),
    # curves and limits
    ("curve_takes_the_greatest", "sizing", CURVE,
     "c->point[i++].size = block[b].sum / block[b].nr;",
     "c->point[i++].size = block[b].sum / block[b].nr * 1.02;"),
    ("curve_stays_convex", "sizing", CURVE, "			if (before >= after)\n				break;",
     "			if (before >= after || nr)\n				break;"),
    ("rates_at_limits_halved", "sizing", CURVE, "	m.rate = curve_rate(c, m.window);",
     "	m.rate = curve_rate(c, m.window) / 2;"),
    ("rates_without_slack", "sizing", CURVE, "	return rate + slack(c, window, rate);",
     "	return rate;"),
    ("growth_counts_as_refaults", "sizing", SIZING,
     "		.refaults = fmax(0, m.rate / of->page_size - first),",
     "		.refaults = fmax(0, m.rate / of->page_size),"),
    ("knee_ignores_growth", "sizing", SIZING,
     "(max_refaults + growth(of)) * of->page_size);",
     "max_refaults * of->page_size + 0 * growth(of));"),
    ("missed_of_nothing", "sizing", SIZING, "fmin(1, at.refaults / all)",
     "fmin(1, at.refaults / all / 2)"),
    # what is used most
    ("hot_counts_intervals_not_seconds", "hot", HOT,
     "	double seconds = (double)s->interval_ns / NSEC_PER_SEC;\n\n	c->share",
     "	double seconds = 1;\n\n	c->share"),
    ("hot_forgets_what_was_cut", "hot", HOT, "		take(h, s, e, put(t, &w->cell, at, end));",
     "		take(h, s, e, put(t, &none, at, end));"),
    ("hot_joins_without_weights", "hot", HOT,
     "	a->freq = (a->freq * m + b->freq * n) / sum;", "	a->freq = (a->freq + b->freq) / 2;"),
    ("hottest_is_the_coldest", "hot", HOT, "	if (!c->best_ns || e->freq > c->best_freq ||",
     "	if (!c->best_ns || e->freq < c->best_freq ||"),
    # parts of regions
    ("fine_places_are_shifted", "fine", POINTS,
     "	       (place * rest + WSMON_SAMPLES_PLACES - 1) / WSMON_SAMPLES_PLACES;",
     "	       0 * (place * rest + WSMON_SAMPLES_PLACES - 1) / WSMON_SAMPLES_PLACES;"),
    ("fine_halves_are_swapped", "fine", POINTS,
     "		point[1] = point_of(mid, end, samples >> WSMON_SAMPLES_UPPER_SHIFT,\n"
     "				    samples & WSMON_SAMPLES_UPPER_HIT);",
     "		point[1] = point_of(mid, end, samples >> WSMON_SAMPLES_UPPER_SHIFT,\n"
     "				    samples & WSMON_SAMPLES_LOWER_HIT);"),
    ("fine_never_forgets", "fine", FINE, "if (++p.age > (changed ? AGE_CHANGED : AGE_MAX) ||",
     "if (++p.age > 100000 + (changed ? AGE_CHANGED : AGE_MAX) ||"),
    ("fine_parts_with_wrong_ends", "fine", FINE, "	e.end = p->end * p->page_size;",
     "	e.end = (p->end - 1) * p->page_size;"),
    ("fine_learns_nothing", "fine", TREE,
     "		prior->split[i] = estimate(prior->cut[i], prior->seen[i]);",
     "		prior->split[i] = MIN_SHARE;"),
    ("fine_mappings_have_no_origin", "fine", ORIGIN,
     "	return index < o->nr && o->area[index].log_odds > 0;",
     "	return index < o->nr && o->area[index].log_odds < -1e9;"),
    # text for people
    ("sizes_of_the_unit_below", "report", UNITS,
     "	while (i < 5 && tenths(bytes, 1ULL << (10 * (i + 1))) >= 10240)",
     "	while (i < 5 && tenths(bytes, 1ULL << (10 * (i + 1))) >= 102400)"),
    ("tenths_are_cut_off", "report", UNITS, "(v % unit * 10 + unit / 2) / unit;",
     "v % unit * 10 / unit;"),
    ("minutes_of_a_hundred_seconds", "sizing", UNITS,
     '"%llum%02llus", s / 60, s % 60);', '"%llum%02llus", s / 60, s % 100);'),
    ("sizes_parsed_as_decimal", "schemes sizing", UNITS, "1ULL << 10 * (prefix - prefixes + 1), &v))",
     "(prefix - prefixes + 1) * 1000ULL, &v))"),
    ("large_numbers_wrap", "usage heatmap report schemes", UNITS,
     "		if (add_digit(&v, *text) || v > max) {", "		if (add_digit(&v, *text) && v > max) {"),
    ("escape_sequences_pass", "report", TEXT, "escape && (!len || cp < 0x20 ||",
     "escape && (!len || cp < 0x1b ||"),
    ("c1_controls_pass", "report", TEXT, "(cp >= 0x7f && cp < 0xa0))) {",
     "(cp >= 0x7f && cp < 0x90))) {"),
    ("surrogates_pass", "report.safe_text", TEXT,
     "	    (*cp >= 0xd800 && *cp <= 0xdfff))", "	    (*cp >= 0xd800 && *cp <= 0xd7ff))"),
    ("bars_without_interval", "wss report", BAR, "p = stpcpy(p, mark[i + 0.5 >= low * per]);",
     "p = stpcpy(p, mark[low > high]);"),
    ("bars_too_long", "report wss", BAR, "	for (i = 0; i + 0.5 < high * per",
     "	for (i = 0; i < high * per + 1"),
    ("output_left_after_failure", "export html", OUTFILE,
     "		unlink(temp);\n	*temp = '\\0';", "	*temp = '\\0';"),
    ("output_replaces_devices", "export html", OUTFILE,
     "if (!stat(file, &st) && !S_ISREG(st.st_mode)) {", "if (stat(file, &st) && 0) {"),
    # long recordings
    ("runs_end_when_they_begin", "long.times", FILE + "index.c",
     "	if (rec->time_ns > run->to_ns)\n		run->to_ns = rec->time_ns;\n", ""),
    ("what_was_before_is_read", "long.times", LIB + "index.c",
     "if (run->to_ns < from_ns || run->from_ns > to_ns)",
     "if (run->to_ns < from_ns / 2 || run->from_ns > to_ns)"),
    ("next_file_lacks_areas", "long.rotation", FILE + "rotate.c",
     "		at += area->size;\n", "		at = k->bytes;\n"),
    ("old_files_count_half", "long.rotation", FILE + "output.c",
     "			bytes -= st.st_size;\n", "			bytes -= st.st_size / 2;\n"),
    ("files_only_begin", "long.rotation", FILE + "rotate.c",
     "	return limit(rot) > 2 * rot->begun_bytes ? limit(rot) : 2 * rot->begun_bytes;\n",
     "	return limit(rot);\n"),
    ("ages_end_late", "idle", REPORT + "idle.c", "e->age_ms >= ends[i]", "e->age_ms > ends[i]"),
    # two recordings
    ("windows_of_cgroups_are_missing", "group diff", REPORT + "run.c", "if (wss_row_get(rec, &row))",
     "if (rec->type == WSMON_REC_WSS && wss_row_get(rec, &row))"),
    ("intervals_of_ninety_percent", "diff", DIFF + "batches.c",
     "if (1 - within(t, freedom) > p)", "if (1 - within(t, freedom) > 2 * p)"),
    ("growth_without_its_interval", "diff", DIFF + "diff.c",
     "l->change - half_width(&grown, P / rows) > limit", "l->change - 0 * half_width(&grown, P / rows) > limit"),
    # wsmo act
    ("limits_are_not_charged", "act", LIMITS, "		l->bytes -= bytes;\n", "		l->bytes -= bytes / 100;\n"),
    ("watermark_is_reversed", "act", LIMITS,
     'if (l->available_below && meminfo("MemAvailable") < l->available_below)',
     'if (l->available_below && meminfo("MemAvailable") > l->available_below)'),
    ("unused_quotas_grow", "goals", GOAL, "	if (score >= 1 || used_up)\n", "	if (score >= 0 || used_up)\n"),
    ("goals_not_known_are_far", "goals", GOAL, "	g->reached = unknown || best >= 1;\n",
     "	g->reached = best >= 1;\n"),
    ("goals_are_not_charged", "goals", LIMITS, "		l->goals.left -= bytes;\n",
     "		l->goals.left -= bytes / 100;\n"),
    ("cgroups_have_the_pressure_of_all", "goals", LIMITS, "fopen(l->psi ?: PSI_FILE, ", "fopen(l->psi ? PSI_FILE : PSI_FILE, "),
    ("evidence_survives_doubt", "evidence", EVIDENCE,
     "	for (i = 0; i < e->nr; i++)\n		start_anew(&e->piece[i], now);", "	for (i = 1; i < e->nr; i += 2)\n		start_anew(&e->piece[i], now);"),
    ("one_draw_is_proof", "evidence", EVIDENCE,
     "	s.high = middle + half < 1 ? middle + half : 1;", "	s.high = s.mean;"),
    ("new_memory_has_a_past", "evidence", EVIDENCE, "	if (covered < p->end - p->start) {",
     "	if (!covered) {"),
    ("sizes_do_not_decide", "act", MATCH, "	if (size < r->min_size || size > r->max_size)\n"
     "		return 0;\n", "	if (size < r->min_size)\n		return 0;\n"),
    ("done_again_at_once", "act", MATCH, "return p->acted == rule + 1 && now - p->acted_ns < retry_ns;",
     "return p->acted == rule + 1 && now - p->acted_ns > retry_ns;"),
    ("huge_pages_where_none_fit", "act", MATCH,
     "		s->start = (s->start + ACT_HUGE - 1) & ~(ACT_HUGE - 1);\n", ""),
]

# the first thing that is noticed is enough; flipped bits need not be the mistake's
RUN = "sh -c 'make -s wsmo-asan && TAP_BAIL=1 WSMO_FLIPS=20 tests/wsmo/run %s'"
MUTATIONS = [(name, None, RUN % suites,
              [(path, old, new)]) for name, suites, path, old, new in MISTAKES]

# SPDX-License-Identifier: GPL-2.0
# The map of "report who": a line for each thread, a column for each object, a cell of two halves
#
# who.c defines before it, beside labels of threads, objects and what colours mean
#   left, right, top, bottom	the map's edges, of the screen
#   threads, objects	their numbers
#   $cells		column, y, x from and to, y from and to, colour, text

unset key
unset tics
unset border
set lmargin at screen left
set rmargin at screen right
set tmargin at screen top
set bmargin at screen bottom
set xrange [-0.5:objects - 0.5]
set yrange [0:threads]
plot $cells using 1:2:3:4:5:6:7 with boxxyerror fc rgb variable fs solid noborder, \
	$cells using 1:2:8 with labels font ',8'

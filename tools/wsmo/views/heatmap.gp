# SPDX-License-Identifier: GPL-2.0
# A map of a heatmap: a frame, cells of colour, the scale below them
#
# heatmap.c defines before it, after "reset" and beside labels of the sections
#   left, right, top, bottom	the map's edges, of the screen
#   scale_y, scale_width, scale_height	the scale
#   legend_x, legend_y	text beside the scale
#   from, to, unit	the time axis
#   lines, fine		lines of the map, rows of cells in a line
#   step		time of a column
#   $cells		column, row, square root of the share

set palette defined (0 '#440154', 1 '#482878', 2 '#3e4989', 3 '#31688e', 4 '#26828e', \
	5 '#1f9e89', 6 '#35b779', 7 '#6ece58', 8 '#b5de2b', 9 '#fde725')
unset key
set lmargin at screen left
set rmargin at screen right
set tmargin at screen top
set bmargin at screen bottom
set xrange [from:to]
set yrange [0:lines]
set xtics out nomirror
set xlabel 'time, '.unit offset 0,0.6
set colorbox horizontal user origin screen left,scale_y size screen scale_width,scale_height
set cbrange [0:1]
set cbtics scale 0.4 offset 0,0.4 ('0' 0, '6' 0.25, '25' 0.5, '56' 0.75, '100 %%' 1)
unset ytics
set label "share of pages accessed\n(white: not mapped,\nhatched: not observed)" \
	at screen legend_x,legend_y font ',8'
plot $cells using (from + ($1 + 0.5) * step):(($2 + 0.5) / fine):3 with image

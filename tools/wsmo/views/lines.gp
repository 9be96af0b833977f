# SPDX-License-Identifier: GPL-2.0
# Lines with bands: the pictures of wss, curve and sizing
#
# Their C defines before it
#   lines	number of data blocks $line0 ...: x, y, and the ends of the band
#   title0 ...	the titles of these lines
#   dots	'', or how to draw the points of $points0 ..., in the lines' colours
#   others	number of data blocks $other0 ...: x and y
#   other_title0 ...	their titles

set grid lc rgb '#d0d0d0' lt 1
set key above Left reverse
set border 3
set tics nomirror

# Okabe and Ito's colours, which colour-blind readers can tell apart
colors = '0072b2 d55e00 009e73 cc79a7 e69f00 56b4e9 000000 8c6d1f'

all = ''
do for [i = 0:lines - 1] {
	from = sprintf(', $line%d using ', i)
	color = word(colors, i + 1)
	all = all.from."1:3:4 with filledcurves fc rgb '#b0".color."' notitle"
	all = all.from."1:2 with lines lw 1.5 lc rgb '#".color."' title title".i
	if (strlen(dots)) {
		all = all.sprintf(', $points%d using ', i)
		all = all."1:2 with points pt 7 lc rgb '#".color."' ".dots." notitle"
	}
}
if (others) {
	do for [i = 0:others - 1] {
		all = all.sprintf(', $other%d using ', i)
		all = all."1:2 with lines dt 2 lw 1.5 lc rgb '#444444' title other_title".i
	}
}
eval 'plot '.all[3:]

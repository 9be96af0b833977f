# SPDX-License-Identifier: GPL-2.0
# Bars of memory: the picture of mem
#
# mem.c defines before it, beside the tics of the bars
#   bars	their number
#   first	1: what is in use is known, 2: it is not
#   $bars	y, MiB in use, private, shared and in swap; 1 to 4 are parts of a bar, from the left

set grid x lc rgb '#d0d0d0' lt 1
set border 3
set tics nomirror
set key above Left reverse
set xrange [0:*]
set yrange [0.3:bars + 0.7]
set xlabel 'MiB resident, or in swap (in parentheses: mapped)'

names = "'in use' private shared 'in swap'"
colors = '#d55e00 #0072b2 #56b4e9 #b0b0b0'
edges = '0 $2 $2+$3 $2+$3+$4 $2+$3+$4+$5'
all = ''
do for [i = first:4] {
	from = word(edges, i)
	all = all.sprintf(", $bars using (%s):1:(%s):(%s):($1-0.35):($1+0.35)", from, from, word(edges, i + 1))
	all = all.sprintf(" with boxxyerror fs solid noborder fc rgb '%s' title '%s'", word(colors, i), word(names, i))
}
eval 'plot '.all[3:]

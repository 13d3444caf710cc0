#!/bin/sh
# Stands for a training: reads its point from variables, prints the loss on its last line. SITE makes every site a little different.
exec awk -v r="$SORDINO_RATE" -v d="$SORDINO_DEPTH" -v k="$SORDINO_KIND" -v s="${SITE:-0}" 'BEGIN {
    l = log(r) / log(10) + 2 + (s - 2) / 20
    print 10 * s + (1 + s / 4) * (l * l + 0.15 * (d - 3) * (d - 3) + (k == "sgd") / 2)
}'

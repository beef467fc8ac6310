# Makes a table of what Go's benchmarks print: a row a program, a column an engine, microseconds (the median of the runs) and, after an x, how many times that is of
# goja without the boundary.
/^Benchmark.*ns\/op/ {
	name = $1; sub(/^Benchmark(Programs\/)?/, "", name); sub(/-[0-9]+$/, "", name)
	engine = name; sub(/.*\//, "", engine); sub(/\/[^\/]*$/, "", name)
	if (name == engine) next
	if (!(name in seen)) { seen[name] = 1; rows[++r] = name }
	if (!(engine in had)) { had[engine] = 1; columns[++c] = engine }
	for (i = 2; i <= NF; i++) if ($i == "ns/op") add(name SUBSEP engine, $(i - 1) / 1000)
}
function add(key, value,   i, n) { # keeps the list of a key sorted
	n = ++count[key]
	for (i = n; i > 1 && list[key, i - 1] > value; i--) list[key, i] = list[key, i - 1]
	list[key, i] = value
}
function median(key) { return list[key, int((count[key] + 1) / 2)] }
END {
	printf "%-11s", "us"
	for (j = 1; j <= c; j++) printf " %22s", columns[j]
	print ""
	for (i = 1; i <= r; i++) {
		printf "%-11s", rows[i]
		base = median(rows[i] SUBSEP "bare-goja")
		for (j = 1; j <= c; j++) {
			m = median(rows[i] SUBSEP columns[j])
			if (m == "") printf " %22s", "-"
			else if (base > 0) printf " %13.2f (x%6.2f)", m, m / base
			else printf " %22.2f", m
		}
		print ""
	}
}

// Package nearest finds the known spelling that was probably meant.
package nearest

import "strings"

// Of picks the known spelling closest to an unknown one, or "" when none is close enough to be meant.
func Of(unknown string, known []string) string {
	const longest = 64 // no known spelling is longer; the distance is quadratic
	if len(unknown) > longest {
		return ""
	}
	best, at := "", 0
	low := strings.ToLower(unknown)
	for _, k := range known {
		d := distance(low, strings.ToLower(k))
		if d <= max(2, len(k)/3) && (best == "" || d < at) {
			best, at = k, d
		}
	}
	return best
}

// distance counts the single-byte insertions, deletions and replacements that turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

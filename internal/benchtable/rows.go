package main

// bench is a step that runs benchmarks of one room.
func bench(name, room, pattern, length, count string) step {
	return step{name: name, argv: []string{"go", "test", "-run", "^$", "-bench", pattern, "-benchtime", length, "-count", count, room}}
}

var steps = []step{
	bench("a command, cold and warm", "./live", "Spawn$", "40x", "1"),
	bench("commands a second", "./live", "Throughput$", "400x", "1"),
	bench("file work under watch", "./live", "Names$/^(read|create_in_memory|git_status|grep|go_build|unpack)$", "5x", "1"),
	bench("the network", "./live", "Network$", "1x", "1"),
	bench("search in the Go tree", "./shell/search", "GoTree$", "10x", "1"),
	bench("tools", "./tools", "True|Open1MB|List10000", "20x", "3"),
	bench("JavaScript in a compartment", "./compartment/wasm", "FreshRealm|Programs", "300ms", "3"),
	bench("JavaScript without a boundary", "./compartment/goja", "FreshRealm|Programs", "300ms", "3"),
}

var rows = append([]row{
	{"`true` in a jail that is ready", "Spawn/user warm-µs", "Spawn/user plain-µs", "plain fork and exec"},
	{"`true` in a jail made for it", "Spawn/user cold-µs", "Spawn/user bwrap-µs", "bubblewrap"},
	{"the same, first process a small program", "Spawn/user small-µs", "Spawn/user bwrap-µs", "bubblewrap"},
	{"the same, sandbox opened and closed too", "Spawn/user cold+open-µs", "Spawn/user bwrap-µs", "bubblewrap"},
	{"the same", "Spawn/user cold+open-µs", "Runtime runtime-µs", "sandbox-runtime for Node"},
	{"`true` after `true`, one worker", "Throughput/1_workers ours/s", "Throughput/1_workers bwrap/s", "bubblewrap"},
	{"`true` after `true`, four workers", "Throughput/4_workers ours/s", "Throughput/4_workers bwrap/s", "bubblewrap"},
	{"open 1,000 files five times", "Names/read ours-ms", "Names/read plain-ms", "unconfined"},
	{"create 5,000 files in memory", "Names/create_in_memory ours-ms", "Names/create_in_memory plain-ms", "unconfined"},
	{"`git status`, 10,000 files", "Names/git_status ours-ms", "Names/git_status plain-ms", "unconfined"},
	{"`grep -r` in the Go tree", "Names/grep ours-ms", "Names/grep plain-ms", "unconfined"},
	{"`go build` of a small program", "Names/go_build ours-ms", "Names/go_build plain-ms", "unconfined"},
	{"`tar -x` of 10,000 files", "Names/unpack ours-ms", "Names/unpack plain-ms", "unconfined"},
	{"HTTP kept alive, by proxy", "Network/keep-alive,_1_client proxy-/s", "Network/keep-alive,_1_client direct-/s", "direct"},
	{"HTTP kept alive, captured", "Network/keep-alive,_1_client captured-/s", "Network/keep-alive,_1_client direct-/s", "direct"},
	{"HTTP of 8 clients, by proxy", "Network/keep-alive,_8_clients proxy-/s", "Network/keep-alive,_8_clients direct-/s", "direct"},
	{"HTTP of 8 clients, captured", "Network/keep-alive,_8_clients captured-/s", "Network/keep-alive,_8_clients direct-/s", "direct"},
	{"new connections, by proxy", "Network/new_connections proxy-/s", "Network/new_connections direct-/s", "direct"},
	{"new connections, captured", "Network/new_connections captured-/s", "Network/new_connections direct-/s", "direct"},
	{"a body of 100 MB, by proxy", "Network/100_MB_body proxy-MB/s", "Network/100_MB_body direct-MB/s", "direct"},
	{"a body of 100 MB, captured", "Network/100_MB_body captured-MB/s", "Network/100_MB_body direct-MB/s", "direct"},
	{"search for a word, ripgrep confined", "GoTree/word ripgrep-ms", "GoTree/word bare-ms", "bare ripgrep"},
	{"search for a word, our searcher confined", "GoTree/word builtin-ms", "GoTree/word bare-ms", "bare ripgrep"},
	{"search with many matches, ripgrep confined", "GoTree/many ripgrep-ms", "GoTree/many bare-ms", "bare ripgrep"},
	{"search with many matches, our searcher confined", "GoTree/many builtin-ms", "GoTree/many bare-ms", "bare ripgrep"},
	{"tool run_shell_command, `true`", "True/tool ns/op", "True/bare ns/op", "the same in the sandbox, no tool"},
	{"tool open_file, 1 MB", "Open1MB/tool ns/op", "Open1MB/bare ns/op", "the same read, no tool"},
	{"tool list_directory, 10,000 entries", "List10000/tool ns/op", "List10000/bare ns/op", "the same walk, no tool"},
}, engines()...)

// engines compares each engine of the code boundary, and those of Node where they are, with goja without the boundary.
func engines() []row {
	var list []row
	for _, p := range []struct{ what, name string }{
		{"a fresh realm and its first evaluation", "FreshRealm"},
		{"an evaluation more", "Programs/WarmEval"},
		{"10,000 calls of the host", "Programs/HostCall"},
		{"a recursive function", "Programs/Fib"},
		{"JSON both ways", "Programs/JSON"},
		{"sorting", "Programs/Sort"},
		{"strings", "Programs/Strings"},
	} {
		for _, e := range []struct{ what, name string }{
			{"in wasm", "wasm"}, {"in goja", "goja"}, {"QuickJS on Node", "node-quickjs"}, {"V8 on Node", "node-v8"},
		} {
			list = append(list, row{p.what + ", " + e.what, p.name + "/" + e.name + " ns/op", p.name + "/bare-goja ns/op", "bare goja"})
		}
	}
	return list
}

package main

import (
	"fmt"
	"strings"
)

// topHelp is the list of commands.
func topHelp() string {
	var b strings.Builder
	b.WriteString(`sallyport runs code that is not trusted. The kernel, or a JavaScript
compartment, decides what it can reach.

`)
	for _, c := range commands() {
		fmt.Fprintf(&b, "  sallyport %-8s  %s\n", c.name, c.summary)
	}
	b.WriteString(`
Try:
  sallyport doctor                       what can this machine enforce?
  sallyport run -- sh -c 'id; ls /'      reads allowed, no writes, no network
  sallyport explain --read ~/.ssh        why is it denied?

sallyport COMMAND --help is the manual of a command.
`)
	return b.String()
}

// policyHelp is the part that run and explain share.
const policyHelp = `Policy (with none at all: reads allowed but for the secret places of the home
directory, no writes, no network, of the environment PATH and TMPDIR only):
  --policy FILE         a policy in JSON; an unknown key is an error
  --allow-read P        may be read, also inside a denied directory
  --deny-read P         may not be read; the more specific of the two wins
  --allow-write P       may be written
  --deny-write P        may not be written; always wins over --allow-write
  --allow-domain D      may be reached: example.com, *.example.com, 192.0.2.7,
                        192.0.2.0/24, localhost:5432 of the host; with :PORT
  --deny-domain D       may not be reached, whatever is allowed
  --network WHAT        none, list (what is allowed) or unrestricted
  --env NAME[=VALUE]    pass NAME on from here, or set it
  --limit KEY=V,...     memory=512MiB pids=200 cpu=30s file=1GiB write=4GiB
                        descriptors=4096 connections=100 net=1GiB idle=5m
`

const runHelp = `Usage: sallyport run [flags] -- COMMAND [ARG]...
       sallyport run [flags] -c 'shell line'

Runs a command so that the kernel decides what it can reach. /tmp, /var/tmp and
/dev/shm are the command's own and empty, but for what a flag or policy names.

  -c LINE               run sh -c LINE
  --timeout 30s         kill the command and all it started after this long
  --cwd DIR             start there; without it, here
  --json                print one object about the run on standard output; the
                        command's output goes to the two files that it names
  --report FILE         write what was enforced, as JSON
  --violations FILE     write each denial as a line of JSON as it happens, again
                        with its count if repeated; - is standard error
  --expose [N:]PORT     have 127.0.0.1:N here lead to its server's port PORT

` + policyHelp + `
Exit status: the command's own; 128+N signal N; 124 time limit; 125 sallyport
could not do it; 126 not executable; 127 not found.
`

const explainHelp = `Usage: sallyport explain [flags]
       sallyport explain [flags] --read P | --write P | --domain HOST[:PORT]

Says what run would enforce with the same flags. With a question: is that one
thing allowed, which rule decides, and what would change it? Nothing runs.

  --read P              may P be read?
  --write P             may P be written?
  --domain HOST[:PORT]  may HOST be reached? Without a port: port 443
  --json                print one object

` + policyHelp + `
Exit status: 0 when there was an answer, yes or no; 125 when there was none.
`

const checkHelp = `Usage: sallyport check POLICY

Reads a policy file as run would and says whether it is valid: unknown keys,
wrong types, relative paths, contradictions, paths that are not there.
Nothing runs.

Exit status: 0 valid; 125 not valid, and the message names the key.
`

const doctorHelp = `Usage: sallyport doctor [--json]

Opens a sandbox here, with every layer and every limit, and prints what the
kernel says is in force. When a layer cannot be put up, it prints the system
call, the error and what to do about it.

  --json                print one object

Exit status: 0 when every layer is there; 125 when run would refuse to start.
`

const evalHelp = `Usage: sallyport eval [flags] [FILE | - | -e SOURCE]
       sallyport eval [flags] --session [FILE... | -e SOURCE... | -]

Evaluates JavaScript, or TypeScript, whose types are erased and not checked, in
a compartment: no files, no network, no clock, no environment, but for what
--grant names. Without FILE it reads standard input. The value goes to standard
output, everything else to standard error. A file named .ts is TypeScript; any
other source is JavaScript or, when it is none, TypeScript.

  -e SOURCE             evaluate SOURCE
  --engine NAME         wasm (without the flag), or goja: it starts faster and
                        makes no promise about memory, so one call of the guest
                        can take this process down
  --timeout 5s          stop the evaluation after this long
  --memory 64MiB        bound the guest's memory; goja refuses this
  --grant NAME[=SCOPE]  hand in a power, repeatable:
                          readFile=DIR       readFile(path), below DIR
                          listDirectory=DIR  listDirectory(path), below DIR
                          clock              clock(), in ms, rounded
                          random             random(), randomBytes(count)
                          timers             sleep(ms)
                          fetch=HOST,...     fetch(url, options), to these hosts
                          scratch            scratch.get, set, delete, keys
  --session             evaluate several sources, which share what they declare:
                        -e and FILE can be repeated; without them each line of
                        standard input is one, and goes on while a bracket, a
                        template or a comment is open; ^D ends it, ^C all of it.
                        A stop takes the session back to before it
  --json                print each outcome as one object, on one line

The engine wasm needs a guest: see sallyport guest --help. Without it nothing
runs; no other engine takes its place.

Exit status: 0 the outcome is ok; 1 any other outcome; 125 trouble of our own.
`

const guestHelp = `Usage: sallyport guest install
       sallyport guest status

The guest is the JavaScript engine that eval hosts in WebAssembly: one file of
an npm package, pinned by its version and by its SHA-256.

  install  bring it with npm, for every program of this user
  status   say where it is: built into this program, or in the user's cache

Exit status: 0 it is there and is what it should be; 125 it is not.
`

const toolHelp = `Usage: sallyport tool [flags] NAME [JSON | -]
       sallyport tool [flags] --session | --list

Calls a tool as a model would. The gate is asked before anything else happens.

  --workspace DIR       what the tools work in
  --gate SPEC           ask (a person, on the terminal), or exec:PROGRAM, which
                        gets the call and answers {"approved":true}. No default
  --write-root DIR      save_media writes below it, where the policy lets it
  --only-command NAME   run_shell_command takes one plain command, of these
  --engine NAME         of evaluate_javascript: wasm, or goja
  --session             each line of standard input is a call, NAME JSON, and
                        artifacts stay for the next ones
  --list                print the tools with their schemas
  --json                one object a call; without --session the artifact goes
                        to the file that it names

` + policyHelp + `
Exit status: 0 each call has a result; 1 one has not; 125 trouble of our own.
`

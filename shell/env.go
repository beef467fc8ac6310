package shell

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"sallyport/policy"
)

// proxyVariables send programs that read them to the proxy. They would reach the same hosts without; but a proxy can say in
// words why it refuses, and connect(2) cannot. ALL_PROXY names no SOCKS proxy, for which some programs lack a library.
var proxyVariables = func() (list []string) {
	for _, v := range []struct{ name, value string }{
		{"HTTP_PROXY", proxyURL}, {"HTTPS_PROXY", proxyURL}, {"ALL_PROXY", proxyURL}, {"NO_PROXY", "localhost,127.0.0.1,::1"},
	} {
		list = append(list, v.name+"="+v.value, strings.ToLower(v.name)+"="+v.value)
	}
	return list
}()

const proxyURL = "http://127.0.0.1:3128"

// listed says whether a policy lets commands reach some hosts, and not the network as the host has it.
func listed(n policy.Network) bool { return len(n.AllowedDomains) > 0 && !n.Unrestricted }

// envNames is what a command sees of the host's environment when nothing else is asked for (R167).
var envNames = []string{"PATH"}

// environment builds the environment of every command of a sandbox from nothing: the allowed host variables, then
// Options.Env, then what the sandbox itself needs, which outranks a host value of the same name (R172).
func (o Options) environment(p policy.Policy) ([]string, error) {
	gitSafe := p.Filesystem.GitSafeDirectories
	env := copyOf(nil)
	if o.InheritHostEnvironmentWithItsSecrets {
		for _, kv := range os.Environ() {
			env.set(kv)
		}
	}
	names := o.EnvAllow
	if names == nil {
		names = envNames
	}
	for _, n := range names {
		if err := checkEnvName(n); err != nil {
			return nil, invalid("Options.EnvAllow", err)
		}
		if v, ok := os.LookupEnv(n); ok {
			env.set(n + "=" + v)
		}
	}
	env.set("TMPDIR=/tmp")
	if listed(p.Network) {
		for _, kv := range proxyVariables {
			env.set(kv)
		}
	}
	for i, dir := range gitSafe {
		env.set(fmt.Sprintf("GIT_CONFIG_KEY_%d=safe.directory", i))
		env.set(fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, dir))
	}
	if len(gitSafe) > 0 {
		env.set("GIT_CONFIG_COUNT=" + strconv.Itoa(len(gitSafe)))
	}
	if err := env.overlay(o.Env); err != nil {
		return nil, invalid("Options.Env", err)
	}
	return env.list, nil
}

// envList is an environment without repeated names; the last value wins and keeps the first one's place.
type envList struct {
	list []string
	at   map[string]int // name → index in list
}

// copyOf makes a list that can be added to.
func copyOf(list []string) envList {
	e := envList{list: slices.Clone(list), at: make(map[string]int, len(list))}
	for i, kv := range list {
		name, _, _ := strings.Cut(kv, "=")
		e.at[name] = i
	}
	return e
}

func (e *envList) set(kv string) {
	name, _, _ := strings.Cut(kv, "=")
	if i, ok := e.at[name]; ok {
		e.list[i] = kv
		return
	}
	e.at[name] = len(e.list)
	e.list = append(e.list, kv)
}

// overlay adds literal entries. Nothing in them is expanded: "X=$SECRET" arrives as it stands (R171).
func (e *envList) overlay(entries []string) error {
	for _, kv := range entries {
		name, _, ok := strings.Cut(kv, "=")
		if !ok {
			return fmt.Errorf("%q has no '='", kv)
		}
		if err := checkEnvName(name); err != nil {
			return err
		}
		if strings.ContainsRune(kv, 0) {
			return fmt.Errorf("the value of %s holds a NUL", name)
		}
		e.set(kv)
	}
	return nil
}

// checkEnvName refuses names that a shell could not read back: they are a mistake or an attack (R169).
func checkEnvName(name string) error {
	for i, c := range []byte(name) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return fmt.Errorf("%q is not a name of an environment variable", name)
		}
	}
	if name == "" {
		return fmt.Errorf("the name of an environment variable is empty")
	}
	return nil
}

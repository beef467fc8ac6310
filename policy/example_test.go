package policy_test

import (
	"fmt"

	"sallyport/policy"
)

// Ask before reading, writing or connecting, and say why not.
func Example() {
	p, err := policy.Parse([]byte(`{
		"filesystem": {"allowWrite": ["/work"], "denyRead": ["/work/.env"]},
		"network": {"allowedDomains": ["api.example.com:443"]}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	rules, err := p.Compile(policy.CompileOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range []policy.Decision{
		rules.Read("/work/app.go"),
		rules.Read("/work/.env"),
		rules.Write("/work/.git/hooks/pre-commit"),
		rules.Write("/etc/passwd"),
		rules.Connect("api.example.com", 80),
	} {
		fmt.Println(d.Allowed, d.Reason)
	}
	// Output:
	// true may read /work/app.go: no rule denies it
	// false tried to read /work/.env, which denyRead "/work/.env" denies
	// false tried to write /work/.git/hooks/pre-commit, which is .git/hooks and stays as it is even in a writable directory: git runs them on commit, checkout, merge and push
	// false tried to write /etc/passwd, which is not in any directory that allowWrite names
	// false tried to connect to api.example.com:80, which is not on the allow-list for port 80 ("api.example.com:443" is)
}

// A mistake in a policy is an error that names the key and the nearest known one.
func ExampleParse() {
	_, err := policy.Parse([]byte(`{"filesystem": {"alowRead": ["/work"]}}`))
	fmt.Println(err)
	_, err = policy.Parse([]byte(`{"filesystem": {"allowRead": ["work"]}}`))
	fmt.Println(err)
	// Output:
	// policy: filesystem.alowRead: unknown key; did you mean "allowRead"?
	// policy: filesystem.allowRead[0] "work": not an absolute path
}

// Build a policy in Go, and add to it: the lists are plain slices.
func ExamplePaths() {
	var p policy.Policy
	p.Filesystem.AllowWrite = policy.Paths("/work/out")
	p.Filesystem.AllowWrite = append(p.Filesystem.AllowWrite, policy.PathEntry{Path: "/work/cache", Optional: true})
	p.Network.AllowedDomains = append(p.Network.AllowedDomains, "*.example.com")
	fmt.Println(p.Validate())
	// Output: <nil>
}

// See what a refusal can be answered with.
func ExampleDecision() {
	rules, err := policy.Policy{}.Compile(policy.CompileOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	d := rules.Connect("API.example.com.", 443)
	fmt.Println(d.Reason)
	fmt.Println(d.Remedy)
	// Output:
	// tried to connect to api.example.com:443, which is not on the allow-list; the allow-list is empty, so there is no network at all
	// add "api.example.com:443" to network.allowedDomains
}

// Judge a host in one spelling, and dial that one.
func ExampleCanonicalHost() {
	for _, host := range []string{"Example.COM.", "0x7f.1", "::ffff:10.0.0.1", "evil.example\x00.example.com"} {
		canonical, err := policy.CanonicalHost(host)
		fmt.Println(canonical, err)
	}
	// Output:
	// example.com <nil>
	// 127.0.0.1 <nil>
	// 10.0.0.1 <nil>
	//  policy: host "evil.example\x00.example.com": a NUL in a host
}

// Deny reading the places where a home directory keeps its secrets; nothing does so unasked.
func ExampleDenySecrets() {
	secrets, err := policy.DenySecrets("/home/you")
	if err != nil {
		fmt.Println(err)
		return
	}
	rules, err := policy.Policy{Filesystem: policy.Filesystem{DenyRead: secrets}}.Compile(policy.CompileOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rules.Read("/home/you/.ssh/id_ed25519").Reason)
	// Output: tried to read /home/you/.ssh/id_ed25519, which denyRead "/home/you/.ssh" denies
}

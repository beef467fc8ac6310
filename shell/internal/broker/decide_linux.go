package broker

import "sallyport/policy"

// DecideWrite decides about writing a path as a Broker does for the processes of a jail, without one: for whoever changes
// files on behalf of the same policy.
func DecideWrite(rules *policy.Rules, guarded []Guard, path string) policy.Decision {
	b := &Broker{Config: Config{Rules: rules, Guarded: guarded}}
	return b.write(path)
}

package broker

// oldCalls are those that only older architectures have: none.
func oldCalls() map[int]func(*task) answer { return nil }

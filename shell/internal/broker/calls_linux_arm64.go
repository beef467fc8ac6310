package broker

// oldCalls are those that only older architectures have: none.
var oldCalls map[int]func(*task) answer

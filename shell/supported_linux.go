package shell

// supported says that Linux has a process boundary.
func supported() error { return nil }

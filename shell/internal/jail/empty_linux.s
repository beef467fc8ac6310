// This file lets launch_linux.go declare functions of the runtime without a body.

package goja_test

import (
	"context"
	"fmt"

	"sallyport/compartment"
	"sallyport/compartment/goja"
)

// What this engine promises, and what it says when it is asked for more.
func ExampleNewWithoutMemoryLimit() {
	engine := goja.NewWithoutMemoryLimit()
	fmt.Printf("%+v\n", engine.Promises())
	_, err := engine.Open(context.Background(), compartment.Config{Limits: compartment.Limits{MemoryBytes: 64 << 20}})
	fmt.Println(err)
	// Output:
	// {Capabilities:true Time:false Memory:false Stack:false}
	// limits.memory_bytes: the goja engine cannot limit memory
}

//go:build !linux

package wasm

// newMemory makes a memory of at most limit bytes. refused is called when the guest asks for more.
func newMemory(limit uint64, refused func()) (memory, error) {
	return &heapMemory{limit: limit, refused: refused}, nil
}

// newImage makes an empty image.
func newImage() (image, error) { return &heapImage{}, nil }

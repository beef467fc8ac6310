package evaljs

// HoldEraser takes the eraser, as a source does that it works on, until the returned function is called.
func HoldEraser() (free func()) {
	eraserSlot <- struct{}{}
	return func() { <-eraserSlot }
}

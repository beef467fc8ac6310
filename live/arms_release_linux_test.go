//go:build !sallyport_layers

package live

// buildName is part of the report's name, and buildArms says which arms this build has.
const (
	buildName = ""
	buildArms = "everything up; the others need -tags sallyport_layers"
)

// layerArms: a release build has no way to leave a layer out.
func (a attack) layerArms() []arm { return nil }

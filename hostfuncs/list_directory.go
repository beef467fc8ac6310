package hostfuncs

import (
	"context"

	"sallyport/compartment"
	"sallyport/fs"
)

// listDirectoryNames is how many names a directory may have. With the objects around them they stay far below the parts
// and bytes that may cross in one call.
const listDirectoryNames = 1000

// ListDirectory is the power listDirectory(path): the names in one directory below dir, sorted, each with its type:
// "file", "directory", "link" or "other". No link is followed, and the directories inside are not entered. A name that may not be
// read is left out as if it were not there, and a directory is never cut: one with more than 1,000 names is refused.
// Paths and refusals are those of ReadFile, and "not_a_directory" and "too_many" besides.
//
// It is not gated by itself: see Gated. The directory must stay open while the power is in use.
func ListDirectory(dir *fs.Dir) compartment.Power {
	text := []compartment.Type{compartment.TypeString}
	return compartment.Power{
		Name:       "listDirectory",
		Summary:    "Lists one directory of the workspace, sorted by name.",
		TypeScript: `listDirectory(path: string): Promise<{ name: string; type: "file" | "directory" | "link" | "other" }[]>`,
		Params:     []compartment.Param{{Name: "path", Types: text, MaxBytes: readFilePath}},
		Returns:    compartment.Param{Types: []compartment.Type{compartment.TypeArray}, MaxItems: listDirectoryNames},
		OnCancel:   compartment.CancelDiscards, // a read has no effect to wonder about
		Do: func(_ context.Context, c *compartment.Call) (compartment.Value, error) {
			path, _ := c.Arg(0).AsString()
			entries, err := dir.List(path, listDirectoryNames)
			if err != nil {
				return compartment.Value{}, readRefusal(path, err)
			}
			items := make([]compartment.Value, len(entries))
			for i, e := range entries {
				items[i] = compartment.OfObject(
					compartment.Field{Name: "name", Value: compartment.OfString(e.Name)},
					compartment.Field{Name: "type", Value: compartment.OfString(string(e.Type))},
				)
			}
			return compartment.OfArray(items...), nil
		},
	}
}

package fs_test

import (
	"fmt"
	"os"
	"path/filepath"

	"sallyport/fs"
)

// Reading files that a model names.
func ExampleDir_ReadFile() {
	workspace, err := os.MkdirTemp("", "workspace")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(workspace)
	if err := os.WriteFile(filepath.Join(workspace, "plan.md"), []byte("ship it\n"), 0o644); err != nil {
		panic(err)
	}
	dir, err := fs.OpenDir(workspace)
	if err != nil {
		panic(err)
	}
	defer dir.Close()

	text, err := dir.ReadFile("/plan.md", 1<<20)
	fmt.Printf("%q %v\n", text, err)
	_, err = dir.ReadFile("../../etc/passwd", 1<<20)
	fmt.Println(err)
	_, err = dir.ReadFile("secret.txt", 1<<20)
	fmt.Println(err)
	// Output:
	// "ship it\n" <nil>
	// "../../etc/passwd": the path leads out of the workspace; write a path below its root
	// "secret.txt": no such file, or it may not be read
}

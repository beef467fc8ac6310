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

// Looking around before reading.
func ExampleDir_List() {
	workspace, err := os.MkdirTemp("", "workspace")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(workspace)
	if err := os.MkdirAll(filepath.Join(workspace, "docs", "old"), 0o755); err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(workspace, "docs", "plan.md"), nil, 0o644); err != nil {
		panic(err)
	}
	dir, err := fs.OpenDir(workspace)
	if err != nil {
		panic(err)
	}
	defer dir.Close()

	entries, err := dir.List("docs", 100)
	fmt.Println(entries, err)
	_, err = dir.List("docs/plan.md", 100)
	fmt.Println(err)
	_, err = dir.List("docs", 1)
	fmt.Println(err)
	// Output:
	// [{old directory} {plan.md file}] <nil>
	// "docs/plan.md": is not a directory
	// "docs": has more than 1 names
}

package evaljs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sallyport/compartment"
	"sallyport/compartment/goja"
	"sallyport/evaljs"
	"sallyport/fs"
	"sallyport/hostfuncs"
)

// A program that reads one file through its one power, and finds nothing else.
func Example() {
	workspace, err := os.MkdirTemp("", "workspace")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(workspace)
	if err := os.WriteFile(filepath.Join(workspace, "sales.csv"), []byte("ann,3\nbob,4\n"), 0o600); err != nil {
		panic(err)
	}
	dir, err := fs.OpenDir(workspace)
	if err != nil {
		panic(err)
	}
	defer dir.Close()

	session, err := evaljs.New(evaljs.Options{
		Engine: goja.NewWithoutMemoryLimit(),
		Powers: []compartment.Power{hostfuncs.ReadFile(dir)},
		Limits: compartment.Limits{Time: 2 * time.Second},
	})
	if err != nil {
		panic(err)
	}
	defer session.Close()

	o, err := session.Evaluate(context.Background(), `
		const rows = (await readFile('sales.csv')).trim().split('\n').map((line) => line.split(','));
		console.log(rows.length, 'rows');
		rows.reduce((sum, [, n]) => sum + Number(n), 0)`)
	if err != nil {
		panic(err)
	}
	fmt.Println(o.Status, string(o.Data), o.Console.Entries[0].Text)

	o, err = session.Evaluate(context.Background(), `typeof process + typeof require + typeof fetch`)
	if err != nil {
		panic(err)
	}
	fmt.Println(o.Value.Text)
	// Output:
	// ok 7 2 rows
	// "undefinedundefinedundefined"
}

// A program that goes wrong, and one that does not end.
func ExampleSession_Evaluate() {
	session, err := evaljs.New(evaljs.Options{Engine: goja.NewWithoutMemoryLimit(), Limits: compartment.Limits{Time: 100 * time.Millisecond}})
	if err != nil {
		panic(err)
	}
	defer session.Close()
	for _, source := range []string{"const list = [1, 2]\nlist.foreach((x) => x)", "while (true) {}"} {
		o, err := session.Evaluate(context.Background(), source)
		if err != nil {
			panic(err) // the boundary could not do its work; nothing a program does is an error
		}
		fmt.Println(o.Kind)
		if e := o.Value.Exception; e != nil {
			fmt.Printf("%s: %s\n%s\n%s\n", e.Name, e.Message, o.Where.Source, o.Where.Caret)
		}
	}
	// Output:
	// exception/thrown
	// TypeError: Object has no member 'foreach'
	// list.foreach((x) => x)
	//             ^
	// stopped/time
}

package live

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func init() { modes["fetch"] = fetchMain }

// fetchMain is a Go program that gets a page, in the way that Go programs do.
func fetchMain(args []string) int {
	c := http.Client{Timeout: 20 * time.Second}
	r, err := c.Get(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer r.Body.Close()
	if _, err := io.Copy(os.Stdout, r.Body); err != nil || r.StatusCode != http.StatusOK {
		fmt.Fprintln(os.Stderr, r.Status, err)
		return 1
	}
	return 0
}

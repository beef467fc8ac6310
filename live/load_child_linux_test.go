package live

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

func init() { modes["load"] = loadMain }

// loadMain gets a page again and again: URL, proxy or "", clients, whether connections are kept, seconds. It prints
// requests and bytes a second.
func loadMain(args []string) int {
	clients, _ := strconv.Atoi(args[2])
	span, err := time.ParseDuration(args[4])
	if err != nil || clients < 1 {
		fmt.Fprintln(os.Stderr, "load:", args, err)
		return 1
	}
	transport := &http.Transport{DisableKeepAlives: args[3] == "new", MaxIdleConnsPerHost: clients}
	if args[1] != "" {
		proxy, err := url.Parse(args[1])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		transport.Proxy = http.ProxyURL(proxy)
	}
	c := &http.Client{Transport: transport}
	get := func() (int64, error) {
		r, err := c.Get(args[0])
		if err != nil {
			return 0, err
		}
		defer r.Body.Close()
		n, err := io.Copy(io.Discard, r.Body)
		if err == nil && r.StatusCode != http.StatusOK {
			err = fmt.Errorf("status %s", r.Status)
		}
		return n, err
	}
	var requests, bytes atomic.Int64
	var failed atomic.Value
	var wg sync.WaitGroup
	begun := time.Now()
	for range clients {
		wg.Go(func() {
			for time.Since(begun) < span {
				n, err := get()
				if err != nil {
					failed.Store(err)
					return
				}
				requests.Add(1)
				bytes.Add(n)
			}
		})
	}
	wg.Wait()
	took := time.Since(begun).Seconds()
	if err := failed.Load(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf("%.1f %.1f\n", float64(requests.Load())/took, float64(bytes.Load())/took)
	return 0
}

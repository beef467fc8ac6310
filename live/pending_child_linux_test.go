package live

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

func init() { attackers["connect-and-go"] = connectAndGo }

// connectAndGo connects many times from an address from which nothing can be picked up, and closes the socket each time:
// what the host has dialled for it is wanted by nobody. Without a sandbox there is nothing to leave behind.
func connectAndGo(args []string) (finding, error) {
	if err := need(args, 2); err != nil {
		return finding{}, err
	}
	to, err := netip.ParseAddrPort(args[0])
	if err != nil {
		return finding{}, err
	}
	for range atoi(args[1]) {
		err = withSocket(unix.AF_INET6, unix.SOCK_STREAM, 0, func(fd int) error {
			if err := unix.Bind(fd, &unix.SockaddrInet6{Addr: [16]byte{15: 1}}); err != nil {
				return fmt.Errorf("bind: %w", err)
			}
			return unix.Connect(fd, &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()})
		})
		if err == nil || errors.Is(err, unix.EADDRNOTAVAIL) {
			return finding{}, fmt.Errorf("connect from ::1 to %s: %w", to, err)
		}
	}
	fmt.Println("done")
	_, err = io.Copy(io.Discard, os.Stdin) // until the host has looked
	return finding{refused, "nothing was connected"}, err
}

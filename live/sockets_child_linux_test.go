package live

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	attackers["reach-by-swapped-link"] = reachBySwappedLink
	attackers["reach-by-swapped-address"] = reachBySwappedAddress
	attackers["reach-by-moving"] = reachByMoving
	attackers["connect-to-path"] = connectToPath
	attackers["bind-path"] = bindPath
	attackers["bind-abstract"] = bindAbstract
}

// connectToPath connects to a path socket by a stream, and says what it was greeted with.
func connectToPath(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	err := withSocket(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error { return connected(fd, &unix.SockaddrUnix{Name: args[0]}) })
	return judge("connect to "+args[0], err, unix.EACCES, unix.EPERM)
}

// bindPath makes a socket with a file.
func bindPath(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	err := withSocket(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error {
		if err := unix.Bind(fd, &unix.SockaddrUnix{Name: args[0]}); err != nil {
			return err
		}
		return unix.Listen(fd, 1)
	})
	return judge("bind to "+args[0], err, unix.EACCES, unix.EPERM, unix.EROFS)
}

func bindAbstract(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	err := withSocket(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Bind(fd, &unix.SockaddrUnix{Name: "@" + args[0]}) })
	return judge("bind to an abstract name", err, unix.EACCES, unix.EPERM)
}

const (
	socketRaces    = 1000
	socketRaceTime = 3 * time.Second
)

// reachBySwappedLink connects by a link that leads to a granted socket and to one that is not, in turn.
func reachBySwappedLink(args []string) (finding, error) {
	if err := need(args, 3); err != nil {
		return finding{}, err
	}
	link, granted, denied := args[0], args[1], args[2]
	stop, done := atomic.Bool{}, make(chan error, 1)
	go func() {
		for i := 0; !stop.Load(); i++ {
			other := fmt.Sprintf("%s.%d", link, i%2)
			if err := errors.Join(ignoring(os.Remove(other), os.ErrNotExist), os.Symlink([]string{granted, denied}[i%2], other), os.Rename(other, link)); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	reachedDenied, reachedGranted := 0, 0
	for range socketRaces {
		err := withSocket(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error { return connected(fd, &unix.SockaddrUnix{Name: link}) })
		switch {
		case err == nil:
			reachedDenied++ // greeting is what the one that is not granted says
		case err.Error() == fmt.Sprintf("was answered %q", grantedGreeting):
			reachedGranted++
		}
	}
	stop.Store(true)
	if err := <-done; err != nil {
		return finding{}, err
	}
	if reachedDenied > 0 {
		return got("%d of %d connections", reachedDenied, socketRaces)
	}
	if reachedGranted == 0 {
		return finding{}, errors.New("not even the granted socket was reached")
	}
	return finding{refused, fmt.Sprintf("%d times the granted one", reachedGranted)}, nil
}

func ignoring(err, ignored error) error {
	if errors.Is(err, ignored) {
		return nil
	}
	return err
}

const grantedGreeting = "granted\n"

// reachBySwappedAddress has threads exchange the address and the descriptor while another one connects: a judge that looks
// at one and lets the kernel look again is fooled.
func reachBySwappedAddress(args []string) (finding, error) {
	if err := need(args, 2); err != nil {
		return finding{}, err
	}
	var granted, denied, internet unix.RawSockaddrUnix
	for path, to := range map[string]*unix.RawSockaddrUnix{args[0]: &granted, args[1]: &denied} {
		to.Family = unix.AF_UNIX
		for i, c := range []byte(path) {
			to.Path[i] = int8(c)
		}
	}
	*(*unix.RawSockaddrInet4)(unsafe.Pointer(&internet)) = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: 0x0100, Addr: loopback4}
	shared := new(unix.RawSockaddrUnix)
	number, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 100)
	if err != nil {
		return finding{}, err
	}
	inet, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return finding{}, err
	}
	var stop atomic.Bool
	var path atomic.Int64
	path.Store(int64(inet))
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread()
		versions := []*unix.RawSockaddrUnix{&granted, &denied, &internet, &denied}
		for i := 0; !stop.Load(); i++ {
			*shared = *versions[i%len(versions)]
		}
	})
	wg.Go(func() {
		runtime.LockOSThread()
		for i := 0; !stop.Load(); i++ {
			_ = unix.Dup3([]int{inet, int(path.Load())}[i%2], number, unix.O_CLOEXEC) // one that was just closed has its turn later
		}
	})
	found, tries := false, 0
	for end := time.Now().Add(socketRaceTime); err == nil && !found && time.Now().Before(end); tries++ {
		found, err = raceConnect(number, &path, inet, shared)
	}
	stop.Store(true)
	wg.Wait()
	switch {
	case err != nil:
		return finding{}, err
	case found:
		return got("the socket that is not granted, at attempt %d", tries)
	}
	return finding{refused, fmt.Sprintf("connected only to what was granted, in %d attempts", tries)}, nil
}

// raceConnect connects at a descriptor that is exchanged meanwhile for another kind of socket.
func raceConnect(number int, current *atomic.Int64, inet int, address *unix.RawSockaddrUnix) (bool, error) {
	path, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	defer unix.Close(path)
	current.Store(int64(path))
	defer current.Store(int64(inet))
	for range 10 {
		_, _, _ = syscall.Syscall(unix.SYS_CONNECT, uintptr(number), uintptr(unsafe.Pointer(address)), unsafe.Sizeof(*address))
		if _, err := unix.Getpeername(path); err == nil {
			limit := unix.Timeval{Sec: 2}
			return unix.SetsockoptTimeval(path, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit) == nil && greeted(path) == nil, nil
		}
	}
	return false, nil
}

// reachByMoving brings the socket "other/s" to "granted/s", and connects there.
func reachByMoving(args []string) (finding, error) {
	if err := need(args, 2); err != nil {
		return finding{}, err
	}
	granted, other := filepath.Join(args[1], "granted"), filepath.Join(args[1], "other")
	exchange := func(a, b string) error {
		return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	}
	move := map[string]func() error{
		"rename":               func() error { return unix.Rename(other+"/s", granted+"/s") },
		"link":                 func() error { return errors.Join(unix.Unlink(granted+"/s"), unix.Link(other+"/s", granted+"/s")) },
		"exchange":             func() error { return exchange(other+"/s", granted+"/s") },
		"directory":            func() error { return errors.Join(unix.Rename(granted, granted+".away"), unix.Rename(other, granted)) },
		"exchange directories": func() error { return exchange(granted, other) },
	}[args[0]]
	moved := move()
	err := withSocket(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error { return connected(fd, &unix.SockaddrUnix{Name: granted + "/s"}) })
	if err == nil {
		return got("connected to the other socket")
	}
	return judge(fmt.Sprintf("move by %s (%v), then connect (%v)", args[0], moved, err), moved, unix.EACCES, unix.EPERM, unix.EROFS)
}

package broker

import "golang.org/x/sys/unix"

// oldCalls are those that only older architectures have.
func oldCalls() map[int]func(*task) answer {
	return map[int]func(*task) answer{
		unix.SYS_OPEN: (*task).open, unix.SYS_CREAT: (*task).creat,
		unix.SYS_MKDIR: (*task).mkdir, unix.SYS_RMDIR: (*task).rmdir, unix.SYS_UNLINK: (*task).unlink,
		unix.SYS_RENAME: (*task).rename, unix.SYS_LINK: (*task).linkOld, unix.SYS_SYMLINK: (*task).symlink,
		unix.SYS_MKNOD: (*task).mknod,
		unix.SYS_CHMOD: (*task).chmod, unix.SYS_CHOWN: (*task).chown, unix.SYS_LCHOWN: (*task).lchown,
		unix.SYS_UTIME: (*task).utime, unix.SYS_UTIMES: (*task).utimes, unix.SYS_FUTIMESAT: (*task).futimesat,
	}
}

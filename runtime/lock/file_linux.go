package lock

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// region is a whole file. Locks of open file descriptions, unlike flock, work over NFS, and
// also exclude the server.
func region() *unix.Flock_t { return &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart} }

func lockFile(f *os.File, wait bool) error {
	how := unix.F_OFD_SETLK
	if wait {
		how = unix.F_OFD_SETLKW
	}
	for {
		switch err := unix.FcntlFlock(f.Fd(), how, region()); err {
		case unix.EINTR: // a signal came while it waited
		case unix.EAGAIN, unix.EACCES:
			return ErrTaken
		default:
			return err
		}
	}
}

func fileHeld(f *os.File) bool {
	r := region()
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, r) == nil && r.Type != unix.F_UNLCK
}

// networks are file systems that several machines share, by their numbers (statfs(2), and the
// sources of Lustre, BeeGFS and GPFS).
var networks = map[int64]string{
	0x6969: "NFS", 0x517b: "SMB", 0xff534d42: "CIFS", 0xfe534d42: "SMB2", 0x0bd00bd0: "Lustre", 0x19830326: "BeeGFS", 0x47504653: "GPFS",
	0x00c36400: "Ceph", 0x7461636f: "OCFS2", 0x01161970: "GFS2", 0x5346414f: "AFS", 0x65735546: "FUSE", 0xaad7aaea: "PanFS",
}

// network names the shared file system of a path; "" for a local or unknown one.
func network(path string) string {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return ""
	}
	return describe(int64(s.Type))
}

func describe(number int64) string {
	if name := networks[number&0xffffffff]; name != "" {
		return fmt.Sprintf("a file system of several machines (%s)", name)
	}
	return ""
}

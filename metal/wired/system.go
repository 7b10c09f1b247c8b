package wired

import "time"

// Where the helper and what belongs to it stand on a Mac. All is root's.
const (
	Label   = "dev.plimsoll.helper"
	Socket  = "/var/run/dev.plimsoll.helper.sock"
	Program = "/Library/PrivilegedHelperTools/dev.plimsoll.helper"
	Job     = "/Library/LaunchDaemons/dev.plimsoll.helper.plist"
	// Home is the folder of the helper's files, root's, mode 0755.
	Home = "/Library/Application Support/dev.plimsoll.helper"
)

// The helper's files in its folder.
const (
	// UsersFile lists who may ask, recorded at install: one user id a line (Users).
	UsersFile = "users"
	// StateFile is what the helper remembers, mode 0644: everybody may read it.
	StateFile = "state.json"
	// AuditFile has a line for each change, mode 0600.
	AuditFile = "audit.log"
)

// Reader is what is needed to tell how the limit stands. None of it needs rights.
type Reader interface {
	// Sysctl reads a number by its name. It fails with an error that wraps
	// ErrNoKey when the system has no such name.
	Sysctl(name string) (uint64, error)
	// BootSession changes at every start of the system (kern.bootsessionuuid).
	BootSession() (string, error)
	// Continuous is the time since some moment of this boot session, sleep included.
	Continuous() (time.Duration, error)
	// Files are the helper's files.
	Files() Files
}

// System is the machine as the helper changes it: the real one in metal/helper,
// another in the simulated Mac and in tests. It is used by several goroutines.
type System interface {
	Reader
	// RAM is the memory of the machine in bytes.
	RAM() (uint64, error)
	// SetSysctl writes a number by its name. It fails with an error that wraps
	// os.ErrPermission where the key is read-only.
	SetSysctl(name string, value uint64) error
	// Audit notes one change, a line without its end. A limit is not raised when
	// that fails.
	Audit(line string) error
}

// Files are a few small files in one folder that only their owner may write.
// Folder is the one on disk.
type Files interface {
	// Read returns a file's bytes. It fails with an error that wraps
	// os.ErrNotExist when there is none, and with one that wraps ErrUntrusted when
	// somebody but the owner could have written it.
	Read(name string) ([]byte, error)
	// Write replaces a file: after a crash at any moment, even of the machine, it
	// holds all of the old bytes or all of the new.
	Write(name string, data []byte) error
}

// ErrUntrusted says that a file is not its owner's alone.
var ErrUntrusted error = failure(CodeFile, "the file is not its owner's alone", nil)

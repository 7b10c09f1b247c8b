package wired

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Folder is Files on disk. Nothing in it is followed or believed that somebody
// but Owner could have put there: the folder and each file must be Owner's, not
// writable by others, no symbolic link, and a file must be a regular one without
// a second name. That is checked on what was opened, not on its path.
type Folder struct {
	Path string
	// Owner is the user whose files these are: 0 for the helper.
	Owner int
	// Step, if set, is called before each step of a write with its name, so that
	// a test can end the process there.
	Step func(string)
}

const (
	fileMost  = 64 << 10 // bytes that are read of a file
	auditMost = 256 << 10
)

// Read implements Files.
func (d Folder) Read(name string) ([]byte, error) {
	root, err := d.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := d.file(root, name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, fileMost+1))
	if err == nil && len(data) > fileMost {
		err = fmt.Errorf("%s is longer than %d bytes", name, fileMost)
	}
	return data, err
}

// Write implements Files.
func (d Folder) Write(name string, data []byte) error {
	root, err := d.open()
	if err != nil {
		return err
	}
	defer root.Close()
	next := "." + name + ".next"
	d.step("clear")
	if err := root.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	d.step("create")
	f, err := d.file(root, next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	d.step("write")
	_, err = f.Write(data)
	d.step("sync")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		d.step("rename")
		err = root.Rename(next, name)
	}
	if err == nil {
		d.step("sync folder")
		err = syncFolder(root)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	d.step("written")
	return nil
}

// Append adds a line to a file that only Owner may read. A file that has grown
// long becomes name.1, in place of the one before.
func (d Folder) Append(name, line string) error {
	root, err := d.open()
	if err != nil {
		return err
	}
	defer root.Close()
	d.step("append")
	f, err := d.file(root, name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	info, err := f.Stat()
	if err == nil {
		_, err = f.WriteString(line + "\n")
	}
	if err = errors.Join(err, f.Close()); err == nil && info.Size() > auditMost {
		err = root.Rename(name, name+".1")
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// open opens the folder itself and checks it.
func (d Folder) open() (*os.Root, error) {
	named, err := os.Lstat(d.Path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(d.Path)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	switch {
	case err != nil:
	case !os.SameFile(named, opened):
		err = fmt.Errorf("%s is a symbolic link: %w", d.Path, ErrUntrusted)
	default:
		err = d.trusted(opened)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// file opens a file of the folder and checks what was opened. os.Root never leaves
// the folder but follows a link within it, whatever the flags, so the name must be
// that of a file before, and of the same file after. O_NONBLOCK keeps a named pipe
// from holding it up.
func (d Folder) file(root *os.Root, name string, flag int, mode os.FileMode) (*os.File, error) {
	if named, err := root.Lstat(name); err == nil && !named.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file: %w", name, ErrUntrusted)
	}
	f, err := root.OpenFile(name, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, mode)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	named, failed := root.Lstat(name)
	if err = errors.Join(err, failed); err == nil {
		err = d.trusted(opened)
	}
	switch {
	case err != nil:
	case !opened.Mode().IsRegular() || !os.SameFile(named, opened):
		err = fmt.Errorf("%s is no regular file: %w", name, ErrUntrusted)
	case opened.Sys().(*syscall.Stat_t).Nlink != 1:
		err = fmt.Errorf("%s has a second name: %w", name, ErrUntrusted)
	case flag&os.O_CREATE != 0:
		err = f.Chmod(mode) // the umask is not ours to trust
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// trusted checks who may write what was opened.
func (d Folder) trusted(info os.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || int(stat.Uid) != d.Owner:
		return fmt.Errorf("%s is not user %d's: %w", info.Name(), d.Owner, ErrUntrusted)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s may be written by others: %w", info.Name(), ErrUntrusted)
	}
	return nil
}

func (d Folder) step(name string) {
	if d.Step != nil {
		d.Step(name)
	}
}

func syncFolder(root *os.Root) error {
	f, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Package server runs a real Ollama server for tests, with models that package
// gguf writes: own home, own store, own port, nothing fetched from anywhere. The
// program itself is built by build/ollama beforehand; a test never builds it.
package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Server is a running Ollama. Its methods may be called from several goroutines.
type Server struct {
	// URL is where it listens, "http://127.0.0.1:40123".
	URL string
	// Dir holds its home, its models and serve.log.
	Dir string

	process *os.Process
	ended   chan struct{} // closed when the process is gone
	stop    sync.Once
}

// startLimit is how long a server may take to say where it listens: 0.2 s on a
// quiet machine, more when a first start waits for a slow disk.
const startLimit = 30 * time.Second

// stopLimit is how long it may take to end after SIGTERM.
const stopLimit = 10 * time.Second

// Start runs the newest of Versions in a folder, which must exist, and makes all
// Models known to it. It returns ErrNotBuilt when there is no program.
func Start(ctx context.Context, dir string) (*Server, error) {
	return StartVersion(ctx, dir, Versions[0])
}

// StartVersion is Start for one of Versions, with more variables of the environment
// ("OLLAMA_NEW_ENGINE=1").
func StartVersion(ctx context.Context, dir, version string, env ...string) (*Server, error) {
	program, ok := Find(version)
	if !ok {
		return nil, fmt.Errorf("starting Ollama %s: %w", version, ErrNotBuilt)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("starting Ollama: %w", err)
	}
	s := &Server{Dir: dir, ended: make(chan struct{})}
	if err := s.run(ctx, program, env); err != nil {
		return nil, fmt.Errorf("starting Ollama %s: %w", version, err)
	}
	if err := s.create(ctx, Models...); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// run starts the process and waits until it says where it listens.
func (s *Server) run(ctx context.Context, program string, env []string) error {
	home := filepath.Join(s.Dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(s.Dir, "serve.log"))
	if err != nil {
		return err
	}
	cmd := exec.Command(program, "serve")
	cmd.Dir = s.Dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir(),
		"OLLAMA_HOST=127.0.0.1:0", // the kernel chooses; the log tells
		"OLLAMA_MODELS=" + filepath.Join(s.Dir, "models"),
		"OLLAMA_NO_CLOUD=1",
	}
	cmd.Env = append(cmd.Env, env...)
	cmd.SysProcAttr = ownGroup()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return errors.Join(err, log.Close())
	}
	started := make(chan error)
	listening := make(chan string, 1)
	go func() {
		// The kernel ends a child with the thread that started it (ownGroup asks
		// for that), so this one stays until the child has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			follow(stderr, log, listening)
			cmd.Wait() //nolint:errcheck // it ends by a signal, always an error
		}
		log.Close()
		close(s.ended)
	}()
	if err := <-started; err != nil {
		return err
	}
	s.process = cmd.Process
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	select {
	case address := <-listening:
		s.URL = "http://" + address
		return nil
	case <-s.ended:
		return fmt.Errorf("it ended at once; see %s", log.Name())
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("waiting for it to listen: %w; see %s", ctx.Err(), log.Name()), s.Stop())
	}
}

// announcement is how every version says where it listens.
var announcement = regexp.MustCompile(`Listening on (127\.0\.0\.1:\d+) \(version`)

// follow copies the log and sends the address once.
func follow(from io.Reader, to io.Writer, listening chan<- string) {
	lines := bufio.NewReader(io.TeeReader(from, to))
	for {
		line, err := lines.ReadString('\n')
		if m := announcement.FindStringSubmatch(line); m != nil {
			select {
			case listening <- m[1]:
			default:
			}
		}
		if err != nil {
			return
		}
	}
}

// Pid is the server's process. Its runners are its children and of its group.
func (s *Server) Pid() int { return s.process.Pid }

// Pause stops the server as kill -STOP does: connections are accepted by the
// kernel and never answered. Runners go on.
func (s *Server) Pause() error {
	if err := s.process.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("pausing Ollama: %w", err)
	}
	return awaitStop(s.Pid())
}

// Resume undoes Pause.
func (s *Server) Resume() error { return s.process.Signal(syscall.SIGCONT) }

// Stop ends the server and its runners. Calling it again does nothing.
func (s *Server) Stop() error {
	var err error
	s.stop.Do(func() {
		s.process.Signal(syscall.SIGCONT) //nolint:errcheck // it may have ended by itself
		s.process.Signal(syscall.SIGTERM) //nolint:errcheck
		select {
		case <-s.ended:
		case <-time.After(stopLimit):
			err = fmt.Errorf("ollama with pid %d did not end within %v and was killed", s.Pid(), stopLimit)
			s.process.Kill() //nolint:errcheck
			<-s.ended
		}
		// A runner that outlived its server is of this group, which is ours alone.
		syscall.Kill(-s.Pid(), syscall.SIGKILL) //nolint:errcheck // ESRCH is the good case
	})
	return err
}

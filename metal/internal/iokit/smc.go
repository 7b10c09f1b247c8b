package iokit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"unsafe"
)

// connect is what is needed to talk to a driver.
type connect struct {
	part

	// extern mach_port_t mach_task_self_;  <mach/mach_init.h>
	// It is in libSystem.
	taskSelf data
	system   part

	// kern_return_t IOServiceOpen(io_service_t service, task_port_t owningTask, uint32_t type,
	//     io_connect_t *connect);  <IOKit/IOKitLib.h>
	open func(service, task, kind uint32, connection *uint32) int32
	// kern_return_t IOServiceClose(io_connect_t connect);  <IOKit/IOKitLib.h>
	close func(connection uint32) int32
	// kern_return_t IOConnectCallStructMethod(mach_port_t connection, uint32_t selector,
	//     const void *inputStruct, size_t inputStructCnt, void *outputStruct,
	//     size_t *outputStructCnt);  <IOKit/IOKitLib.h>
	callStruct function
}

func (s *System) connections() (*connect, error) {
	c := &s.connect
	if !c.system.bound() {
		c.system.bind("libSystem", s.paths.System, binding{"mach_task_self_", &c.taskSelf})
	}
	if c.system.err != nil {
		return nil, c.system.err
	}
	if !c.bound() {
		c.bind("IOKit", s.paths.IOKit,
			binding{"IOServiceOpen", &c.open},
			binding{"IOServiceClose", &c.close},
			binding{"IOConnectCallStructMethod", &c.callStruct})
	}
	return c, c.err
}

// smcParam is what goes to and comes from the SMC's driver. Apple does not publish
// it; exelban/stats (SMC/smc.swift) and macmon (platform/smc.rs) have the same.
type smcParam struct {
	key     uint32
	version [6]byte
	_       [2]byte
	limits  [16]byte
	info    smcInfo
	result  uint8
	status  uint8
	command uint8
	_       [1]byte
	index   uint32
	payload [smcPayload]byte
}

// smcInfo tells about a key.
type smcInfo struct {
	size uint32
	kind uint32
	_    uint8 // attributes
	_    [3]byte
}

const (
	smcPayload = 32
	// smcSelector is the driver's method that takes an smcParam and gives one.
	smcSelector = 2
	// The commands, of which none writes.
	smcRead       = 5
	smcKeyAtIndex = 8
	smcKeyInfo    = 9
	// smcNoKey is the result for a key that there is not.
	smcNoKey = 132
)

// A driver that is given another layout answers nonsense: a wrong one does not
// compile.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(smcParam{})-80]
	_ = [1]struct{}{}[unsafe.Offsetof(smcParam{}.version)-4]
	_ = [1]struct{}{}[unsafe.Offsetof(smcParam{}.limits)-12]
	_ = [1]struct{}{}[unsafe.Offsetof(smcParam{}.info)-28]
	_ = [1]struct{}{}[unsafe.Sizeof(smcInfo{})-12]
	_ = [1]struct{}{}[unsafe.Offsetof(smcParam{}.result)-40]
	_ = [1]struct{}{}[unsafe.Offsetof(smcParam{}.status)-41]
	_ = [1]struct{}{}[unsafe.Offsetof(smcParam{}.command)-42]
	_ = [1]struct{}{}[unsafe.Offsetof(smcParam{}.index)-44]
	_ = [1]struct{}{}[unsafe.Offsetof(smcParam{}.payload)-48]
)

// ErrNoKey is what errors of SMC wrap for a key that this machine does not have.
var ErrNoKey = errors.New("no such key")

// errClosed is the error of a connection or subscription that was closed.
var errClosed = errors.New("it was closed")

// SMC is an open connection to the system management controller. It may be used by
// several goroutines and only ever reads.
type SMC struct {
	s          *System
	io         *connect
	lock       sync.Mutex
	connection uint32 // 0 when closed
	known      map[uint32]smcInfo
}

// OpenSMC opens the controller: AppleSMCKeysEndpoint, as it is called on Apple
// Silicon, else any AppleSMC that answers. It stays open until Close.
func (s *System) OpenSMC() (*SMC, error) {
	io, err := s.connections()
	if err != nil {
		return nil, err
	}
	w, err := s.walker()
	if err != nil {
		return nil, err
	}
	defer w.done()
	// The endpoint is found by its class or, as macmon does, by its name among the
	// services that inherit from AppleSMC.
	const endpoint = "AppleSMCKeysEndpoint"
	var opened *SMC
	reason := fmt.Errorf("no such service: %w", ErrMissing)
	for _, try := range []struct{ class, name string }{{endpoint, ""}, {"AppleSMC", endpoint}, {"AppleSMC", ""}} {
		err := w.services(try.class, func(service uint32) (taken, more bool) {
			if try.name == "" || w.entryName(service) == try.name {
				opened, reason = s.connectSMC(io, service)
			}
			return false, opened == nil
		})
		if err != nil {
			reason = err
		}
		if opened != nil {
			return opened, nil
		}
	}
	return nil, fmt.Errorf("opening the SMC: %w", reason)
}

// connectSMC opens one service and keeps it if it answers.
func (s *System) connectSMC(io *connect, service uint32) (*SMC, error) {
	c := &SMC{s: s, io: io, known: map[uint32]smcInfo{}}
	task := *at[uint32](uintptr(io.taskSelf))
	if r := io.open(service, task, 0, &c.connection); r != 0 {
		return nil, fmt.Errorf("IOServiceOpen: %w", kernError(r))
	}
	if _, err := c.Count(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close closes the connection. Closing again does nothing.
func (c *SMC) Close() {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.connection != 0 {
		c.io.close(c.connection)
		c.connection = 0
	}
}

// Count is how many keys there are.
func (c *SMC) Count() (int, error) {
	_, b, err := c.Read("#KEY")
	if err != nil {
		return 0, err
	}
	if len(b) != 4 {
		return 0, fmt.Errorf("reading SMC key #KEY: %d bytes", len(b))
	}
	return int(binary.BigEndian.Uint32(b)), nil
}

// KeyAt is the name of the key of an index from 0 to Count() - 1.
func (c *SMC) KeyAt(i int) (string, error) {
	var key uint32
	err := c.ask(smcParam{command: smcKeyAtIndex, index: uint32(i)}, func(out *smcParam) { key = out.key })
	if err != nil {
		return "", fmt.Errorf("reading SMC key %d: %w", i, err)
	}
	return fourText(key), nil
}

// Info is the type of a key, four characters such as "flt ", and its size in
// bytes. It does not change and is asked once.
func (c *SMC) Info(key string) (kind string, size int, err error) {
	_, info, err := c.info(key)
	if err != nil {
		return "", 0, err
	}
	return fourText(info.kind), int(info.size), nil
}

// Read is the type and the value of a key. The error wraps ErrNoKey if there is no
// such key.
func (c *SMC) Read(key string) (kind string, value []byte, err error) {
	code, info, err := c.info(key)
	if err != nil {
		return "", nil, err
	}
	if info.size > smcPayload {
		return "", nil, fmt.Errorf("reading SMC key %s: it has %d bytes, more than %d", key, info.size, smcPayload)
	}
	err = c.ask(smcParam{key: code, info: info, command: smcRead}, func(out *smcParam) {
		value = append(value, out.payload[:info.size]...)
	})
	if err != nil {
		return "", nil, fmt.Errorf("reading SMC key %s: %w", key, err)
	}
	return fourText(info.kind), value, nil
}

func (c *SMC) info(key string) (code uint32, info smcInfo, err error) {
	if len(key) != 4 {
		return 0, smcInfo{}, fmt.Errorf("reading SMC key %q: a key has four characters", key)
	}
	code = binary.BigEndian.Uint32([]byte(key))
	c.lock.Lock()
	info, ok := c.known[code]
	c.lock.Unlock()
	if ok {
		return code, info, nil
	}
	err = c.ask(smcParam{key: code, command: smcKeyInfo}, func(out *smcParam) { info = out.info })
	if err != nil {
		return 0, smcInfo{}, fmt.Errorf("reading SMC key %s: %w", key, err)
	}
	c.lock.Lock()
	c.known[code] = info
	c.lock.Unlock()
	return code, info, nil
}

// ask makes one call, and lets take read the answer if it is one.
func (c *SMC) ask(question smcParam, take func(out *smcParam)) error {
	memory, err := c.s.borrow()
	if err != nil {
		return err
	}
	defer c.s.giveBack(memory)
	const size = unsafe.Sizeof(smcParam{})
	in := memory.address
	out, outSize := in+size, in+2*size
	*at[smcParam](in) = question
	*at[smcParam](out) = smcParam{}
	*at[uintptr](outSize) = size
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.connection == 0 {
		return errClosed
	}
	r := int32(memory.call(c.io.callStruct, uintptr(c.connection), smcSelector, in, size, out, outSize))
	answer := at[smcParam](out)
	switch {
	case r != 0:
		return fmt.Errorf("IOConnectCallStructMethod: %w", kernError(r))
	case *at[uintptr](outSize) != size:
		return fmt.Errorf("the answer has %d bytes, not %d", *at[uintptr](outSize), size)
	case answer.result == smcNoKey:
		return ErrNoKey
	case answer.result != 0:
		return fmt.Errorf("SMC result %d", answer.result)
	}
	take(answer)
	return nil
}

// fourText is a code of four characters.
func fourText(code uint32) string {
	return string(binary.BigEndian.AppendUint32(nil, code))
}

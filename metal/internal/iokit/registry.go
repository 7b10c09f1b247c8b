package iokit

import (
	"errors"
	"fmt"
	"sync"
)

// registry is what is needed of the IORegistry. io_object_t, io_service_t,
// io_registry_entry_t and io_iterator_t are mach_port_t, 32 bits; kern_return_t is
// int. The main port 0 is kIOMainPortDefault.
type registry struct {
	part

	// CFMutableDictionaryRef IOServiceMatching(const char *name);  <IOKit/IOKitLib.h>
	matching func(name string) uintptr
	// kern_return_t IOServiceGetMatchingServices(mach_port_t mainPort,
	//     CFDictionaryRef matching CF_RELEASES_ARGUMENT, io_iterator_t *existing);  <IOKit/IOKitLib.h>
	// It takes the dictionary, also when it fails.
	getMatching func(port uint32, matching uintptr, existing *uint32) int32
	// io_object_t IOIteratorNext(io_iterator_t iterator);  <IOKit/IOKitLib.h>
	next function
	// kern_return_t IOObjectRelease(io_object_t object);  <IOKit/IOKitLib.h>
	release function
	// kern_return_t IOObjectGetClass(io_object_t object, io_name_t className);  <IOKit/IOKitLib.h>
	className function
	// kern_return_t IORegistryEntryGetName(io_registry_entry_t entry, io_name_t name);  <IOKit/IOKitLib.h>
	entryName function
	// CFTypeRef IORegistryEntryCreateCFProperty(io_registry_entry_t entry, CFStringRef key,
	//     CFAllocatorRef allocator, IOOptionBits options);  <IOKit/IOKitLib.h>
	createProperty function
	// kern_return_t IORegistryEntryGetChildIterator(io_registry_entry_t entry,
	//     const io_name_t plane, io_iterator_t *iterator);  <IOKit/IOKitLib.h>
	children func(entry uint32, plane string, iterator *uint32) int32

	lock         sync.Mutex
	accelerators []accelerator // kept
}

// ioName is sizeof(io_name_t), char[128] (XNU, iokit/IOKit/IOTypes.h and
// osfmk/device/device_types.h).
const ioName = 128

// servicePlane is kIOServicePlane <IOKit/IOKitKeys.h>.
const servicePlane = "IOService"

func (s *System) ioRegistry() (*registry, error) {
	r := &s.registry
	if !r.bound() {
		r.bind("IOKit", s.paths.IOKit,
			binding{"IOServiceMatching", &r.matching},
			binding{"IOServiceGetMatchingServices", &r.getMatching},
			binding{"IOIteratorNext", &r.next},
			binding{"IOObjectRelease", &r.release},
			binding{"IOObjectGetClass", &r.className},
			binding{"IORegistryEntryGetName", &r.entryName},
			binding{"IORegistryEntryCreateCFProperty", &r.createProperty},
			binding{"IORegistryEntryGetChildIterator", &r.children})
	}
	return r, r.err
}

// walker reads the IORegistry. It is one call's, and ends with done.
type walker struct {
	reader
	io *registry
}

func (s *System) walker() (walker, error) {
	io, err := s.ioRegistry()
	if err != nil {
		return walker{}, err
	}
	r, err := s.reader()
	return walker{r, io}, err
}

// services visits the services of a class and of those that inherit from it, until
// visit returns false. An entry that visit takes it has to release.
func (w walker) services(class string, visit func(entry uint32) (taken, more bool)) error {
	dictionary := w.io.matching(class)
	if dictionary == 0 {
		return fmt.Errorf("IOServiceMatching %s: no dictionary", class)
	}
	var iterator uint32
	if r := w.io.getMatching(0, dictionary, &iterator); r != 0 {
		return fmt.Errorf("IOServiceGetMatchingServices %s: %w", class, kernError(r))
	}
	w.each(iterator, visit)
	return nil
}

// childrenOf visits what hangs on an entry in the service plane.
func (w walker) childrenOf(entry uint32, visit func(entry uint32) (taken, more bool)) error {
	var iterator uint32
	if r := w.io.children(entry, servicePlane, &iterator); r != 0 {
		return fmt.Errorf("IORegistryEntryGetChildIterator: %w", kernError(r))
	}
	w.each(iterator, visit)
	return nil
}

// each visits what an iterator has, and gives the iterator back. No match at all
// may come as an iterator of 0.
func (w walker) each(iterator uint32, visit func(entry uint32) (taken, more bool)) {
	if iterator == 0 {
		return
	}
	defer w.releaseEntry(iterator)
	for more := true; more; {
		entry := uint32(w.call(w.io.next, uintptr(iterator)))
		if entry == 0 {
			return
		}
		var taken bool
		if taken, more = visit(entry); !taken {
			w.releaseEntry(entry)
		}
	}
}

func (w walker) releaseEntry(entry uint32) { w.call(w.io.release, uintptr(entry)) }

// class is the entry's class, "" if it cannot be told.
func (w walker) class(entry uint32) string { return w.name(w.io.className, entry) }

// entryName is the entry's name, which is not its class.
func (w walker) entryName(entry uint32) string { return w.name(w.io.entryName, entry) }

func (w walker) name(f function, entry uint32) string {
	if int32(w.call(f, uintptr(entry), w.address)) != 0 {
		return ""
	}
	return w.s.names.of(bytesAt(w.address, ioName))
}

// property is one property of an entry, to be released; 0 if it has none of that
// name. Asking for one costs a fraction of asking for all.
func (w walker) property(entry uint32, name string) (uintptr, error) {
	key, err := w.s.key(name)
	if err != nil {
		return 0, err
	}
	return w.call(w.io.createProperty, uintptr(entry), key, 0, 0), nil
}

// propertyText is a property that is a CFString, or bytes that are a text.
func (w walker) propertyText(entry uint32, name string) string {
	ref, err := w.property(entry, name)
	if err != nil || ref == 0 {
		return ""
	}
	defer w.release(ref)
	if b := w.bytes(ref); b != nil {
		return w.s.names.of(b)
	}
	return w.text(ref)
}

// propertyNumber is a property that is a whole number.
func (w walker) propertyNumber(entry uint32, name string) *int64 {
	ref, err := w.property(entry, name)
	if err != nil || ref == 0 {
		return nil
	}
	defer w.release(ref)
	if n, ok := w.number(ref); ok {
		return &n
	}
	return nil
}

// kernError is a kern_return_t or IOReturn that is no success.
func kernError(r int32) error {
	switch uint32(r) {
	case 0xe00002c0: // kIOReturnNoDevice <IOKit/IOReturn.h>
		return fmt.Errorf("no such device (%#x): %w", uint32(r), ErrMissing)
	case 0xe00002c1: // kIOReturnNotPrivileged
		return fmt.Errorf("not privileged (%#x)", uint32(r))
	case 0xe00002e2: // kIOReturnNotPermitted
		return fmt.Errorf("not permitted (%#x)", uint32(r))
	}
	return fmt.Errorf("result %#x", uint32(r))
}

// ServiceProperty is the bytes of a property of a device of the chip by its name,
// such as "pmgr" and "voltage-states9". On Apple Silicon these are services of
// class AppleARMIODevice; that, and that the name decides, is how macmon
// (platform/io_service.rs) and mactop find the frequencies.
func (s *System) ServiceProperty(service, property string) ([]byte, error) {
	w, err := s.walker()
	if err != nil {
		return nil, err
	}
	defer w.done()
	var value []byte
	reason := fmt.Errorf("no device of that name: %w", ErrMissing)
	err = w.services("AppleARMIODevice", func(entry uint32) (taken, more bool) {
		if w.entryName(entry) != service {
			return false, true
		}
		value, reason = w.data(entry, property)
		return false, reason != nil
	})
	if err = errors.Join(err, reason); err != nil {
		return nil, fmt.Errorf("reading %s of %s: %w", property, service, err)
	}
	return value, nil
}

// data is a property that is bytes.
func (w walker) data(entry uint32, property string) ([]byte, error) {
	ref, err := w.property(entry, property)
	if err != nil {
		return nil, err
	}
	if ref == 0 {
		return nil, fmt.Errorf("it has no such property: %w", ErrMissing)
	}
	defer w.release(ref)
	value := w.bytes(ref)
	if value == nil {
		return nil, errors.New("the property has no bytes")
	}
	return value, nil
}

// Package objc calls C and Objective-C libraries without cgo: it loads them,
// keeps an autorelease pool around calls, sends messages, makes classes whose
// methods are Go functions, and makes and calls blocks.
//
// Nothing in it is bound to macOS. Where the libraries are is an argument, so a
// test on any system runs all of it against a small runtime in C that counts
// objects, pools and wrong calls. What only a Mac can prove: that the layouts
// of blocks and classes are those of the real runtime. They follow Apple's
// published ABI, https://clang.llvm.org/docs/Block-ABI-Apple.html, and the
// headers of objc4.
//
// Rules for users: Go memory is passed as a string or pointer, never as a
// number, because a stack may move; a result of "new", "alloc", "copy" or
// "retain" is released, any other is not; everything that makes objects runs
// inside Pool; methods that return large structs are not called, they need
// another entry point on Intel.
package objc

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/ebitengine/purego"
)

// ID is an object, a class or nil (0).
type ID uintptr

// SEL is the name of a method.
type SEL uintptr

// Paths are the files that a Runtime is loaded from.
type Paths struct {
	ObjC   string // objc_msgSend and the like
	System string // blocks and memory
	// Frameworks are loaded for their classes.
	Frameworks []string
}

// System is where macOS has its libraries, with the frameworks named, such as
// "UserNotifications". They are not files any more, but the loader knows them.
func System(frameworks ...string) Paths {
	p := Paths{ObjC: "/usr/lib/libobjc.A.dylib", System: "/usr/lib/libSystem.B.dylib"}
	for _, name := range frameworks {
		p.Frameworks = append(p.Frameworks, "/System/Library/Frameworks/"+name+".framework/"+name)
	}
	return p
}

// Runtime is a loaded Objective-C runtime. It is safe for concurrent use and is
// never unloaded.
type Runtime struct {
	getClass      func(name string) ID
	registerName  func(name string) SEL
	poolPush      func() uintptr
	poolPop       func(pool uintptr)
	allocateClass func(super ID, name string, extra uintptr) ID
	registerClass func(class ID)
	addMethod     func(class ID, name SEL, imp uintptr, types string) bool
	getProtocol   func(name string) ID
	addProtocol   func(class, protocol ID) bool
	calloc        func(count, size uintptr) uintptr

	msgSend     uintptr // objc_msgSend for integers and pointers
	sendText    func(to ID, name SEL, text string) ID
	sendForText func(to ID, name SEL) string
	sendFloat   func(to ID, name SEL) float64
	globalBlock uintptr // &_NSConcreteGlobalBlock

	selectors sync.Map // string → SEL
}

// Open loads a runtime. The error names the library or the symbol that is
// missing.
func Open(paths Paths) (*Runtime, error) {
	objc, err := Load(paths.ObjC)
	if err != nil {
		return nil, err
	}
	system, err := Load(paths.System)
	if err != nil {
		return nil, err
	}
	for _, path := range paths.Frameworks {
		if _, err := Load(path); err != nil {
			return nil, err
		}
	}
	r := &Runtime{}
	for _, f := range []struct {
		library *Library
		name    string
		bind    any
	}{
		{objc, "objc_getClass", &r.getClass},
		{objc, "sel_registerName", &r.registerName},
		{objc, "objc_autoreleasePoolPush", &r.poolPush},
		{objc, "objc_autoreleasePoolPop", &r.poolPop},
		{objc, "objc_allocateClassPair", &r.allocateClass},
		{objc, "objc_registerClassPair", &r.registerClass},
		{objc, "class_addMethod", &r.addMethod},
		{objc, "objc_getProtocol", &r.getProtocol},
		{objc, "class_addProtocol", &r.addProtocol},
		{objc, "objc_msgSend", &r.sendText},
		{objc, "objc_msgSend", &r.sendForText},
		{objc, "objc_msgSend", &r.sendFloat},
		{system, "calloc", &r.calloc},
	} {
		if err := f.library.Func(f.bind, f.name); err != nil {
			return nil, err
		}
	}
	if r.msgSend, err = objc.Symbol("objc_msgSend"); err != nil {
		return nil, err
	}
	if r.globalBlock, err = system.Symbol("_NSConcreteGlobalBlock"); err != nil {
		return nil, err
	}
	return r, nil
}

// Pool runs do on one thread inside an autorelease pool, which gives back what
// the calls left behind, also after a panic.
func (r *Runtime) Pool(do func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pool := r.poolPush()
	defer r.poolPop(pool)
	do()
}

// Class is a class by its name, 0 if there is none.
func (r *Runtime) Class(name string) ID { return r.getClass(name) }

// Selector is a method's name in the form that messages take.
func (r *Runtime) Selector(name string) SEL {
	if known, ok := r.selectors.Load(name); ok {
		return known.(SEL)
	}
	selector := r.registerName(name)
	r.selectors.Store(name, selector)
	return selector
}

// Send sends a message whose arguments and result are integers, objects,
// selectors or blocks. A message to nil is 0, as in Objective-C.
func (r *Runtime) Send(to ID, name string, args ...ID) ID {
	if to == 0 {
		return 0
	}
	all := make([]uintptr, 2, 8)
	all[0], all[1] = uintptr(to), uintptr(r.Selector(name))
	for _, arg := range args {
		all = append(all, uintptr(arg))
	}
	result, _, _ := purego.SyscallN(r.msgSend, all...)
	return ID(result)
}

// SendBool is Send for a method that returns BOOL, of which only the low byte
// counts.
func (r *Runtime) SendBool(to ID, name string, args ...ID) bool {
	return byte(r.Send(to, name, args...)) != 0
}

// SendFloat is Send for a method without arguments that returns a double.
func (r *Runtime) SendFloat(to ID, name string) float64 {
	if to == 0 {
		return 0
	}
	return r.sendFloat(to, r.Selector(name))
}

// String makes an NSString, autoreleased. text must be UTF-8 without NUL.
func (r *Runtime) String(text string) ID {
	return r.sendText(r.Class("NSString"), r.Selector("stringWithUTF8String:"), text)
}

// Text is an NSString's text, "" for nil.
func (r *Runtime) Text(s ID) string {
	if s == 0 {
		return ""
	}
	return r.sendForText(s, r.Selector("UTF8String"))
}

// Release gives up an object that the caller owns.
func (r *Runtime) Release(object ID) { r.Send(object, "release") }

// Method is a method whose body is made here. Func is a Go function
// func(self ID, name SEL, args …) whose arguments are ID or uintptr. Types is
// its encoding, "v@:@" for one object and no result.
type Method struct {
	Name  string
	Types string
	Func  any
}

// NewClass registers a class. It implements protocols by name where they are
// known. A class cannot be taken back, and its name is unique in a process.
func (r *Runtime) NewClass(name, super string, protocols []string, methods ...Method) (ID, error) {
	parent := r.Class(super)
	if parent == 0 {
		return 0, fmt.Errorf("making the class %s: there is no class %s", name, super)
	}
	class := r.allocateClass(parent, name, 0)
	if class == 0 {
		return 0, fmt.Errorf("making the class %s: the name is taken", name)
	}
	for _, m := range methods {
		if !r.AddMethod(class, m) {
			return 0, fmt.Errorf("making the class %s: adding %s failed", name, m.Name)
		}
	}
	for _, protocol := range protocols {
		if p := r.getProtocol(protocol); p != 0 {
			r.addProtocol(class, p)
		}
	}
	r.registerClass(class)
	return class, nil
}

// AddMethod adds a method to a class that may be in use, and tells whether it
// did: a method that the class itself has already is left as it is.
func (r *Runtime) AddMethod(class ID, m Method) bool {
	return r.addMethod(class, r.Selector(m.Name), purego.NewCallback(m.Func), m.Types)
}

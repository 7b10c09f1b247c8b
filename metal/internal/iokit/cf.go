package iokit

import (
	"fmt"
	"sync"
	"unsafe"
)

// coreFoundation is what is needed of CoreFoundation. A ref is any CFTypeRef, 0
// for NULL. CFIndex, CFTypeID and CFNumberType are long, Boolean is unsigned char.
type coreFoundation struct {
	part

	// void CFRelease(CFTypeRef cf);  <CoreFoundation/CFBase.h>
	release function
	// CFTypeID CFGetTypeID(CFTypeRef cf);  <CoreFoundation/CFBase.h>
	typeOf function

	// CFTypeID CFStringGetTypeID(void);  and so on
	stringType, numberType, dictionaryType, arrayType, dataType func() uintptr
	types                                                       struct{ text, number, dictionary, array, data uintptr }

	// CFStringRef CFStringCreateWithCString(CFAllocatorRef alloc, const char *cStr,
	//     CFStringEncoding encoding);  <CoreFoundation/CFString.h>
	createString func(allocator uintptr, text string, encoding uint32) uintptr
	// Boolean CFStringGetCString(CFStringRef theString, char *buffer, CFIndex bufferSize,
	//     CFStringEncoding encoding);  <CoreFoundation/CFString.h>
	getCString function

	// CFNumberRef CFNumberCreate(CFAllocatorRef allocator, CFNumberType theType,
	//     const void *valuePtr);  <CoreFoundation/CFNumber.h>
	createNumber func(allocator uintptr, kind int64, value unsafe.Pointer) uintptr
	// Boolean CFNumberGetValue(CFNumberRef number, CFNumberType theType, void *valuePtr);
	// <CoreFoundation/CFNumber.h>
	getNumber function

	// const UInt8 *CFDataGetBytePtr(CFDataRef theData);  <CoreFoundation/CFData.h>
	dataBytes function
	// CFIndex CFDataGetLength(CFDataRef theData);  <CoreFoundation/CFData.h>
	dataLength function

	// CFIndex CFArrayGetCount(CFArrayRef theArray);  <CoreFoundation/CFArray.h>
	arrayCount function
	// const void *CFArrayGetValueAtIndex(CFArrayRef theArray, CFIndex idx);  <CoreFoundation/CFArray.h>
	arrayAt function
	// CFMutableArrayRef CFArrayCreateMutable(CFAllocatorRef allocator, CFIndex capacity,
	//     const CFArrayCallBacks *callBacks);  <CoreFoundation/CFArray.h>
	createArray function
	// void CFArrayAppendValue(CFMutableArrayRef theArray, const void *value);  <CoreFoundation/CFArray.h>
	appendTo function

	// CFIndex CFDictionaryGetCount(CFDictionaryRef theDict);  <CoreFoundation/CFDictionary.h>
	count function
	// const void *CFDictionaryGetValue(CFDictionaryRef theDict, const void *key);  <CoreFoundation/CFDictionary.h>
	get function
	// void CFDictionaryGetKeysAndValues(CFDictionaryRef theDict, const void **keys,
	//     const void **values);  <CoreFoundation/CFDictionary.h>
	keysAndValues function
	// CFMutableDictionaryRef CFDictionaryCreateMutable(CFAllocatorRef allocator, CFIndex capacity,
	//     const CFDictionaryKeyCallBacks *keyCallBacks,
	//     const CFDictionaryValueCallBacks *valueCallBacks);  <CoreFoundation/CFDictionary.h>
	createDictionary function
	// CFMutableDictionaryRef CFDictionaryCreateMutableCopy(CFAllocatorRef allocator,
	//     CFIndex capacity, CFDictionaryRef theDict);  <CoreFoundation/CFDictionary.h>
	copyDictionary function
	// void CFDictionarySetValue(CFMutableDictionaryRef theDict, const void *key,
	//     const void *value);  <CoreFoundation/CFDictionary.h>
	set function

	// const CFArrayCallBacks kCFTypeArrayCallBacks;  and so on
	arrayCallbacks, keyCallbacks, valueCallbacks data

	keysLock sync.Mutex
	keys     map[string]uintptr // constant CFStrings, created once
}

const (
	utf8          = 0x08000100 // kCFStringEncodingUTF8 <CoreFoundation/CFString.h>
	numberSInt32  = 3          // kCFNumberSInt32Type <CoreFoundation/CFNumber.h>
	numberSInt64  = 4          // kCFNumberSInt64Type
	longestString = 4096
)

func (s *System) cf() (*coreFoundation, error) {
	f := &s.coreFoundation
	if f.bound() {
		return f, f.err
	}
	f.bind("CoreFoundation", s.paths.CoreFoundation,
		binding{"CFRelease", &f.release}, binding{"CFGetTypeID", &f.typeOf},
		binding{"CFStringGetTypeID", &f.stringType}, binding{"CFNumberGetTypeID", &f.numberType},
		binding{"CFDictionaryGetTypeID", &f.dictionaryType}, binding{"CFArrayGetTypeID", &f.arrayType},
		binding{"CFDataGetTypeID", &f.dataType},
		binding{"CFStringCreateWithCString", &f.createString}, binding{"CFStringGetCString", &f.getCString},
		binding{"CFNumberCreate", &f.createNumber}, binding{"CFNumberGetValue", &f.getNumber},
		binding{"CFDataGetBytePtr", &f.dataBytes}, binding{"CFDataGetLength", &f.dataLength},
		binding{"CFArrayGetCount", &f.arrayCount}, binding{"CFArrayGetValueAtIndex", &f.arrayAt},
		binding{"CFArrayCreateMutable", &f.createArray}, binding{"CFArrayAppendValue", &f.appendTo},
		binding{"CFDictionaryGetCount", &f.count}, binding{"CFDictionaryGetValue", &f.get},
		binding{"CFDictionaryGetKeysAndValues", &f.keysAndValues},
		binding{"CFDictionaryCreateMutable", &f.createDictionary},
		binding{"CFDictionaryCreateMutableCopy", &f.copyDictionary}, binding{"CFDictionarySetValue", &f.set},
		binding{"kCFTypeArrayCallBacks", &f.arrayCallbacks},
		binding{"kCFTypeDictionaryKeyCallBacks", &f.keyCallbacks},
		binding{"kCFTypeDictionaryValueCallBacks", &f.valueCallbacks})
	return f, f.err
}

// key is the CFString of a constant text. It is kept and not to be released.
func (s *System) key(text string) (uintptr, error) {
	f, err := s.cf()
	if err != nil {
		return 0, err
	}
	f.keysLock.Lock()
	defer f.keysLock.Unlock()
	if ref := f.keys[text]; ref != 0 {
		return ref, nil
	}
	ref := f.createString(0, text, utf8)
	if ref == 0 {
		return 0, fmt.Errorf("making a CFString of %q failed", text)
	}
	if f.keys == nil {
		f.keys = map[string]uintptr{}
	}
	f.keys[text] = ref
	return ref, nil
}

func (s *System) releaseKeys() {
	if !s.coreFoundation.bound() {
		return
	}
	c, err := s.borrow()
	if err != nil {
		return
	}
	defer s.giveBack(c)
	f := &s.coreFoundation
	f.keysLock.Lock()
	defer f.keysLock.Unlock()
	for text, ref := range f.keys {
		c.call(f.release, ref)
		delete(f.keys, text)
	}
}

// reader reads CF objects. It is one call's, and ends with done.
type reader struct {
	*scratch
	s  *System
	cf *coreFoundation
}

func (s *System) reader() (reader, error) {
	f, err := s.cf()
	if err != nil {
		return reader{}, err
	}
	f.typesOnce()
	c, err := s.borrow()
	return reader{c, s, f}, err
}

func (f *coreFoundation) typesOnce() {
	f.keysLock.Lock()
	defer f.keysLock.Unlock()
	if f.types.text == 0 {
		f.types.text, f.types.number, f.types.data = f.stringType(), f.numberType(), f.dataType()
		f.types.dictionary, f.types.array = f.dictionaryType(), f.arrayType()
	}
}

func (r reader) done() { r.s.giveBack(r.scratch) }

func (r reader) release(ref uintptr) {
	if ref != 0 {
		r.call(r.cf.release, ref)
	}
}

func (r reader) is(ref, kind uintptr) bool { return ref != 0 && r.call(r.cf.typeOf, ref) == kind }

// text is a CFString's text, "" for anything else and for one that is longer than
// longestString.
func (r reader) text(ref uintptr) string {
	if !r.is(ref, r.cf.types.text) || byte(r.call(r.cf.getCString, ref, r.address, longestString, utf8)) == 0 {
		return ""
	}
	return r.s.names.of(bytesAt(r.address, longestString))
}

// number is a CFNumber's value; absent for anything else and for one that is no
// whole number of 64 bits.
func (r reader) number(ref uintptr) (int64, bool) {
	if !r.is(ref, r.cf.types.number) || byte(r.call(r.cf.getNumber, ref, numberSInt64, r.address)) == 0 {
		return 0, false
	}
	return *at[int64](r.address), true
}

// bytes is a copy of what a CFData has, nil for anything else.
func (r reader) bytes(ref uintptr) []byte {
	if !r.is(ref, r.cf.types.data) {
		return nil
	}
	n, from := int(r.call(r.cf.dataLength, ref)), r.call(r.cf.dataBytes, ref)
	if n <= 0 || from == 0 {
		return []byte{}
	}
	return append([]byte(nil), bytesAt(from, n)...)
}

// numbers are the whole numbers of a CFDictionary by their names.
func (r reader) numbers(ref uintptr) (map[string]int64, error) {
	if !r.is(ref, r.cf.types.dictionary) {
		return nil, nil
	}
	n := int(r.call(r.cf.count, ref))
	const most = (scratchBytes - longestString) / 16
	if n < 0 || n > most {
		return nil, fmt.Errorf("a dictionary has %d entries, more than %d", n, most)
	}
	// What text and number write stands at the beginning, the entries behind it.
	keys := r.address + longestString
	values := keys + uintptr(8*n)
	r.call(r.cf.keysAndValues, ref, keys, values)
	numbers := make(map[string]int64, n)
	for i := range uintptr(n) {
		if value, ok := r.number(*at[uintptr](values + 8*i)); ok {
			if name := r.text(*at[uintptr](keys + 8*i)); name != "" {
				numbers[name] = value
			}
		}
	}
	return numbers, nil
}

// length is how many elements a CFArray has, 0 for anything else.
func (r reader) length(ref uintptr) int {
	if !r.is(ref, r.cf.types.array) {
		return 0
	}
	return int(r.call(r.cf.arrayCount, ref))
}

// element is an element of a CFArray, not to be released.
func (r reader) element(ref uintptr, i int) uintptr { return r.call(r.cf.arrayAt, ref, uintptr(i)) }

// value is what a CFDictionary has under a key, not to be released.
func (r reader) value(ref, key uintptr) uintptr {
	if !r.is(ref, r.cf.types.dictionary) {
		return 0
	}
	return r.call(r.cf.get, ref, key)
}

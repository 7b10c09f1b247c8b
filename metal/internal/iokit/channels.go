package iokit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Channel chooses channels of IOReport.
type Channel struct {
	Group    string
	Subgroup string // "" is all
	Name     string // a part of the channel's name; "" is all
}

// desired is the dictionary of the channels chosen, to be released.
func (p *report) desired(r reader, only []Channel) (uintptr, error) {
	var all uintptr
	defer func() { r.release(all) }()
	filtered := false
	for i, c := range only {
		filtered = filtered || c.Name != ""
		if slices.ContainsFunc(only[:i], c.inside) || slices.ContainsFunc(only[i+1:], c.whollyInside) {
			continue
		}
		channels, err := p.in(r, c)
		if err != nil {
			return 0, err
		}
		switch {
		case channels == 0:
		case all == 0:
			all = channels
		default:
			r.call(p.merge, all, channels, 0)
			r.release(channels)
		}
	}
	if all == 0 {
		return 0, fmt.Errorf("none of the channels %v: %w", only, ErrMissing)
	}
	chosen := r.call(r.cf.copyDictionary, 0, 0, all)
	if chosen == 0 {
		return 0, errors.New("CFDictionaryCreateMutableCopy: no dictionary")
	}
	if filtered {
		if err := p.choose(r, chosen, only); err != nil {
			r.release(chosen)
			return 0, err
		}
	}
	return chosen, nil
}

// inside tells whether other has the subgroup too, so that it is not asked for twice.
func (c Channel) inside(other Channel) bool {
	return c.Group == other.Group && (other.Subgroup == "" || other.Subgroup == c.Subgroup)
}

// whollyInside is inside and not the same.
func (c Channel) whollyInside(other Channel) bool {
	return c.inside(other) && c.Subgroup != other.Subgroup
}

// in is the dictionary of a group's channels, 0 if there are none, to be released.
func (p *report) in(r reader, c Channel) (uintptr, error) {
	text := func(text string) (uintptr, error) {
		if text == "" {
			return 0, nil
		}
		return r.s.key(text)
	}
	group, err := text(c.Group)
	if err != nil {
		return 0, err
	}
	subgroup, err := text(c.Subgroup)
	if err != nil {
		return 0, err
	}
	return r.call(p.copyChannels, group, subgroup, 0, 0, 0), nil
}

// choose leaves only the channels in the dictionary whose names are right. Putting
// another array into it is what macmon does.
func (p *report) choose(r reader, dictionary uintptr, only []Channel) error {
	key, err := r.s.key(channelsKey)
	if err != nil {
		return err
	}
	array := r.call(r.cf.createArray, 0, 0, uintptr(r.cf.arrayCallbacks))
	if array == 0 {
		return errors.New("CFArrayCreateMutable: no array")
	}
	defer r.release(array)
	all := r.value(dictionary, key)
	for i := range r.length(all) {
		channel := r.element(all, i)
		e := p.labels(r, channel)
		for _, c := range only {
			if c.Group == e.Group && (c.Subgroup == "" || c.Subgroup == e.Subgroup) && strings.Contains(e.Name, c.Name) {
				r.call(r.cf.appendTo, array, channel)
				break
			}
		}
	}
	if r.length(array) == 0 {
		return fmt.Errorf("none of the channels %v: %w", only, ErrMissing)
	}
	r.call(r.cf.set, dictionary, key, array)
	return nil
}

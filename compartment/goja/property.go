package goja

import (
	"fmt"

	"github.com/dop251/goja"
)

// property is a property as its descriptor tells it. No getter was run.
type property struct {
	found      bool
	accessor   bool
	enumerable bool
	value      goja.Value
}

// ownProperty looks at an own property of an object that is no proxy.
func (r *realm) ownProperty(o *goja.Object, name string) property {
	return r.ownPropertyAt(o, r.vm.ToValue(name))
}

// ownPropertyAt is ownProperty for any key.
func (r *realm) ownPropertyAt(o *goja.Object, key goja.Value) property {
	v, ok := r.ask(r.kept.descriptor, goja.Undefined(), o, key)
	d, isObject := v.(*goja.Object)
	if !ok || !isObject {
		return property{}
	}
	// The descriptor is a new plain object. Which of its fields are its own says whether it tells of a value; a field
	// that is not its own would be looked for on Object.prototype, which belongs to the guest.
	p := property{found: true, accessor: true}
	for _, name := range d.GetOwnPropertyNames() {
		switch name {
		case "value":
			p.accessor, p.value = false, d.Get(name)
		case "get": // plain data, before the override mistake was repaired
			if get, ok := d.Get(name).(*goja.Object); ok {
				if v, ours := r.tamed[get]; ours {
					p.accessor, p.value = false, v
				}
			}
		case "enumerable":
			p.enumerable = d.Get(name).ToBoolean()
		}
	}
	return p
}

// maxChain is how many prototypes are looked at for a name: more than any program has.
const maxChain = 32

// dataField finds a property that is plain data, on the object or on its prototypes, as a program would see it. It
// stops at getters and proxies.
func (r *realm) dataField(o *goja.Object, name string) (goja.Value, bool) {
	for range maxChain {
		if o == nil || o.ExportType() == typeProxy {
			return nil, false
		}
		if p := r.ownProperty(o, name); p.found {
			return p.value, !p.accessor
		}
		o = o.Prototype()
	}
	return nil, false
}

// hasField tells whether the object or one of its prototypes has a property of that name, whatever it is. A proxy
// counts as having it.
func (r *realm) hasField(o *goja.Object, name string) bool {
	for range maxChain {
		if o == nil {
			return false
		}
		if o.ExportType() == typeProxy || r.ownProperty(o, name).found {
			return true
		}
		o = o.Prototype()
	}
	return true
}

// shortText is how much of a name or message is looked at.
const shortText = 4096

// stringField is dataField for a text; anything else is empty.
func (r *realm) stringField(o *goja.Object, name string) string {
	v, ok := r.dataField(o, name)
	s, isText := v.(goja.String)
	if !ok || !isText {
		return ""
	}
	if n := s.Length(); n > shortText {
		return fmt.Sprintf("%s… (%d characters in all)", s.Substring(0, shortText/2).String(), n)
	}
	return s.String()
}

// errorText is "name: message" of an error, of data alone.
func (r *realm) errorText(o *goja.Object) string {
	name, message := r.stringField(o, "name"), r.stringField(o, "message")
	if name == "" {
		name = "Error"
	}
	if message == "" {
		return name
	}
	return name + ": " + message
}

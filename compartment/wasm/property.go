package wasm

// maxChain is how many prototypes are looked at for a name: more than any program has.
const maxChain = 32

// dataField finds a property that is plain data, on the object or on its prototypes, as a program would see it. It stops at getters and at
// proxies, so nothing of the guest runs. 0 is nothing found; otherwise the handle is the caller's.
func (in *instance) dataField(o handle, name string) handle {
	key := in.newString(name)
	defer in.free(key)
	at := handle(in.call(xDupValue, uint64(o)))
	for range maxChain {
		if in.dead != nil || in.typeOf(at) != tagObject || in.classOf(at) == classProxy {
			break
		}
		found := in.invoke(in.fixed.own, at, key)
		if in.typeOf(found) == tagObject {
			var v handle
			if in.lengthOf(found) > 0 {
				v = in.element(found, 0)
			}
			in.free(found, at)
			return v
		}
		proto := in.invoke(in.fixed.proto, at)
		in.free(found, at)
		at = proto
	}
	in.free(at)
	return 0
}

// longText is how much of a name or message is looked at, and shownText how long it may be when it is shown: escaping makes text longer.
const (
	longText  = 2000
	shownText = 2 * longText
)

// dataText is dataField for a text; anything else is empty.
func (in *instance) dataText(o handle, name string) string {
	v := in.dataField(o, name)
	defer in.free(v)
	return in.shortText(v, longText)
}

// errorText is "name: message" of an error, of data alone.
func (in *instance) errorText(o handle) string {
	name, message := in.dataText(o, "name"), in.dataText(o, "message")
	if name == "" {
		name = "Error"
	}
	if message == "" {
		return name
	}
	return name + ": " + message
}

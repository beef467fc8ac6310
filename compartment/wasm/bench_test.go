package wasm

import (
	"context"
	"testing"

	"sallyport/compartment"
	"sallyport/compartment/goja"

	"github.com/stretchr/testify/require"
)

func benchEngine(b *testing.B, o Options) *Engine {
	e, err := New(context.Background(), o)
	require.NoError(b, err)
	b.Cleanup(func() { e.Close() })
	return e
}

func BenchmarkFreshRealmAndFirstEval(b *testing.B) {
	e := benchEngine(b, Options{})
	for b.Loop() {
		c, err := e.Open(context.Background(), compartment.Config{})
		require.NoError(b, err)
		o, err := c.Evaluate(context.Background(), "1+1")
		require.NoError(b, err)
		require.Equal(b, "2", o.Value.Text)
		c.Close()
	}
}

func BenchmarkFreshRealm(b *testing.B) {
	e := benchEngine(b, Options{})
	for b.Loop() {
		c, err := e.Open(context.Background(), compartment.Config{})
		require.NoError(b, err)
		c.Close()
	}
}

func BenchmarkWarmEval(b *testing.B) {
	e := benchEngine(b, Options{})
	c, err := e.Open(context.Background(), compartment.Config{})
	require.NoError(b, err)
	for b.Loop() {
		_, err := c.Evaluate(context.Background(), "1+1")
		require.NoError(b, err)
	}
}

var power = compartment.Power{Name: "f", Params: []compartment.Param{{Name: "n", Types: []compartment.Type{compartment.TypeNumber}}}, Sync: true, Local: true, OnCancel: compartment.CancelDiscards,
	Do: func(_ context.Context, c *compartment.Call) (compartment.Value, error) { return c.Arg(0), nil }}

func BenchmarkPrograms(b *testing.B) {
	e := benchEngine(b, Options{})
	engines := map[string]compartment.Engine{"wasm": e, "goja": goja.NewWithoutMemoryLimit()}
	for name, src := range map[string]string{
		"hostcall10000": "{let s=0; for(let i=0;i<10000;i++) s+=f(i); s}",
		"loop10000":     "{let s=0; for(let i=0;i<10000;i++) s+=i; s}",
		"fib27":         "(function fib(n){return n<2?n:fib(n-1)+fib(n-2)})(27)",
		"json":          "{const o=[];for(let i=0;i<5000;i++)o.push({id:i,name:'name'+i,tags:['a','b'],v:i/3});let n=0;for(let i=0;i<2;i++){n+=JSON.stringify(JSON.parse(JSON.stringify(o))).length} n}",
		"sort":          "{let a=[];let x=1;for(let i=0;i<1e5;i++){x=(x*1103515245+12345)&0x7fffffff;a.push(x)} a.sort((p,q)=>p-q)[0]}",
		"strings":       "{let s='';for(let i=0;i<2e5;i++){s+='item '+i+','} s.split(',').map(x=>x.toUpperCase()).join('').length}",
		"copyout":       "Array.from({length:1000},(_, i)=>({id:i,name:'n'+i,ok:true,v:null}))",
	} {
		for en, e := range engines {
			b.Run(name+"/"+en, func(b *testing.B) {
				c, err := e.Open(context.Background(), compartment.Config{Powers: []compartment.Power{power}})
				require.NoError(b, err)
				defer c.Close()
				for b.Loop() {
					o, err := c.Evaluate(context.Background(), src)
					require.NoError(b, err)
					require.Equal(b, compartment.StatusOK, o.Status, "%v", o.Value)
				}
			})
		}
	}
}

Array.from({ length: 1000 }, (_, i) => ({ id: i, name: 'n' + i, ok: true, v: null }))

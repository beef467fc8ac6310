{ const o = []; for (let i = 0; i < 3000; i++) o.push({ id: i, name: 'name' + i, tags: ['a', 'b'], v: i / 3 }); JSON.stringify(JSON.parse(JSON.stringify(o))).length }

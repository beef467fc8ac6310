{ const a = []; let x = 1; for (let i = 0; i < 30000; i++) { x = (x * 1103515245 + 12345) & 0x7fffffff; a.push(x) } a.sort((p, q) => p - q)[0] }

{ let s = ''; for (let i = 0; i < 20000; i++) s += 'item ' + i + ','; s.split(',').map((x) => x.toUpperCase()).join('').length }

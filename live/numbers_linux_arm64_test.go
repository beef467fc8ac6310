package live

// sysOpen is open(2). This architecture does not have it: 0.
const sysOpen = 0

// callsHere are the refused calls that only this architecture has.
var callsHere []call

// foreignPrograms: a 64-bit program on this architecture has no way to make a 32-bit call.
var foreignPrograms map[string][]byte

// elfMachine is the machine number of the programs.
const elfMachine = 183

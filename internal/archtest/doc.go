// Package archtest holds the house rules of the module as tests. It has no code of its own.
//
// The table in table_test.go says which rooms (packages) exist, what each may import inside the module, and which room
// alone may use a dangerous import such as os/exec, unsafe or a JavaScript engine. A new package must be placed in that
// table, with a reason, before the tests pass. Other tests here hold the list of dependencies, the names that must
// never be exported, the words that do not belong in the tree, and the claims that the documents make.
package archtest

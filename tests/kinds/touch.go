// SPDX-License-Identifier: GPL-2.0
// As an ordinary process of kinds.c
package main
import ("fmt"; "os"; "time")
var used, idle = make([]byte, 8<<20), make([]byte, 16<<20)
func main() {
	for i := 0; i < len(idle); i += 4096 { idle[i]++ }
	for i := 0; i < len(used); i += 4096 { used[i]++ }
	fmt.Printf("ready pid=%d used=%d resident=%d slack=%d\n", os.Getpid(), len(used), len(used)+len(idle), 8<<20)
	for {
		for i := 0; i < len(used); i += 4096 { used[i]++ }
		time.Sleep(50 * time.Millisecond)
	}
}

// Command job is the only file of the image that the tests run. It inspects its container from
// inside.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Println("no command")
		return
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(what string, args []string) error {
	switch what {
	case "exit": // CODE
		fmt.Println("to stdout")
		fmt.Fprintln(os.Stderr, "to stderr")
		code, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		os.Exit(code)
	case "env": // NAME ...
		for _, name := range args {
			fmt.Printf("%s=%s\n", name, os.Getenv(name))
		}
	case "quoted": // NAME ...
		for _, name := range args {
			fmt.Printf("%s=%q\n", name, os.Getenv(name))
		}
	case "eat": // MIB
		return eat(args[0])
	case "print": // KIB, then WAIT: write errors are ignored
		kib, err := strconv.Atoi(args[0])
		for range kib {
			fmt.Println(strings.Repeat("x", 1023))
		}
		if len(args) > 1 {
			return wait(true)
		}
		return err
	case "wait", "ignore": // for SIGTERM
		return wait(what == "ignore")
	case "outlast": // ATTEMPTS that end before their work is done
		if os.Getenv("AWS_BATCH_JOB_ATTEMPT") <= args[0] {
			return wait(false)
		}
	case "write": // FILE ...
		for _, name := range args {
			err := os.WriteFile(name, []byte("written\n"), 0o600)
			fmt.Println(name, err == nil)
		}
	case "read": // FILE
		text, err := os.ReadFile(args[0])
		fmt.Print(string(text))
		return err
	case "user":
		fmt.Println(os.Getuid(), os.Getgid(), "pid 1:", os.Getpid() == 1)
	case "limit":
		const processes = 6 // RLIMIT_NPROC; Go itself changes that of files
		var r syscall.Rlimit
		err := syscall.Getrlimit(processes, &r)
		fmt.Println(r.Cur, r.Max)
		return err
	case "size": // PATH: of its file system, in MiB
		var s syscall.Statfs_t
		err := syscall.Statfs(args[0], &s)
		fmt.Println(int64(s.Blocks) * s.Bsize >> 20)
		return err
	default:
		return fmt.Errorf("what is %s?", strings.Join(os.Args, " "))
	}
	return nil
}

func eat(mib string) error {
	n, err := strconv.Atoi(mib)
	if err != nil {
		return err
	}
	room := make([]byte, n<<20)
	for i := 0; i < len(room); i += 4096 {
		room[i] = 1
	}
	fmt.Println("still here", room[0])
	return nil
}

func wait(ignore bool) error {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	fmt.Println("waiting")
	for {
		s := <-asked
		fmt.Println("got", s)
		if !ignore {
			os.Exit(3)
		}
	}
}

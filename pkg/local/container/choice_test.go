//go:build unix

package container

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/local/process"
)

// newChoice opens an engine's executors; program is for the jobs that do not choose one.
func newChoice(t *testing.T, program string, processes bool) *Choice {
	t.Helper()
	c, err := NewChoice(t.Context(), ChoiceOptions{AllowProcesses: processes,
		Options: Options{Program: program, Dir: emptyDir(t), Processes: process.New(nil, "")}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestChosen asks for executors on a machine whose only program is podman, a script that answers.
func TestChosen(t *testing.T) {
	dir := emptyDir(t)
	if err := os.WriteFile(filepath.Join(dir, Podman), []byte("#!/bin/sh\necho 9.9\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	for _, c := range []struct {
		program, name string
		processes     bool
		want          string // the chosen executor, or a part of the error
	}{
		{Process, "", false, Process},
		{Process, Process, false, Process},
		{Process, Podman, false, "podman 9.9"},
		{Process, Either, false, "podman 9.9"},
		{Process, Docker, false, "executor docker: docker is not on PATH (install docker"},
		{Process, "Podman", false, `unknown executor "Podman"; the executors are: process docker podman container`},
		{Podman, "", false, "podman 9.9"},
		{Either, Podman, false, "podman 9.9"},
		{Podman, Either, false, "podman 9.9"},
		{Podman, Process, false, "the job has a tag to run as a process on this machine"},
		{Either, Process, false, "the job has a tag to run as a process on this machine"},
		{Podman, Process, true, Process},
	} {
		choice := newChoice(t, c.program, c.processes)
		x, err := choice.Chosen(t.Context(), c.name)
		got := Process
		switch x := x.(type) {
		case nil:
			got = err.Error()
		case interface{ String() string }:
			got = x.String()
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s, job chooses %q: %s; want %s", c.program, c.name, got, c.want)
		}
		if c.program != Process && choice.String() != "podman 9.9" {
			t.Errorf("%s is %s", c.program, choice)
		}
	}
	if _, err := NewChoice(t.Context(), ChoiceOptions{Options: Options{Program: Docker, Dir: dir}}); err == nil {
		t.Error("an executor that is not there was opened")
	}
}

// TestChosenLater asks for a program that is installed only after the first request.
func TestChosenLater(t *testing.T) {
	dir := emptyDir(t)
	t.Setenv("PATH", dir)
	choice := newChoice(t, Process, false)
	if _, err := choice.Chosen(t.Context(), Either); err == nil {
		t.Error("an executor was chosen although no program is installed")
	}
	if err := os.WriteFile(filepath.Join(dir, Podman), []byte("#!/bin/sh\necho 9.9\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	first, err := choice.Chosen(t.Context(), Either)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := choice.Chosen(t.Context(), Podman); err != nil || again != first {
		t.Errorf("%v was opened a second time: %v", again, err)
	}
}

// testChoice runs a process and a container with one engine's executors, and clears both.
func testChoice(t *testing.T, program string) {
	choice := newChoice(t, Process, false)
	containers := func() int { return len(containers(t, program)) }
	chosen, err := choice.Chosen(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	x := chosen.(*Executor)
	newTrial(t, x, `"command": ["/job", "exit", "3"]`).run(t, t.Context()).want(t, 3, "to stdout\nto stderr\n", "")

	process := newTrial(t, x, `"command": ["sleep", "1000"]`)
	process.a.ID = "process-" + program
	process.a.Directory = emptyDir(t)
	handles := make(chan string, 1)
	process.a.Started = func(handle string) { handles <- handle }
	log, err := os.Create(process.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	exits := make(chan int, 1)
	go func() {
		exit, _ := choice.Run(context.Background(), process.a, log)
		exits <- exit
	}()
	handle := <-handles

	leave := func(id string) (handle string) {
		r := newTrial(t, x, `"command": ["/job", "wait"]`)
		r.a.ID = id
		create, err := x.creation(nameOf(r.a), r.a)
		if err == nil {
			err = x.options.note(id, x.kind)
		}
		if err == nil {
			_, err = x.do(t.Context(), create)
		}
		if err != nil {
			t.Fatal(err)
		}
		return x.handle(nameOf(r.a))
	}
	known := leave("known")
	leave("noted")
	for _, c := range []struct {
		id, handle string
		left       int
	}{{"unused", "", 2}, {process.a.ID, handle, 2}, {"known", known, 1}, {"noted", "", 0}} {
		if err := choice.Clear(c.id, c.handle); err != nil {
			t.Errorf("clear %s: %v", c.id, err)
		}
		if left := containers(); left != c.left {
			t.Errorf("after %s %d containers are left, want %d", c.id, left, c.left)
		}
	}
	if exit := <-exits; exit != 137 {
		t.Errorf("the process ended with %d", exit)
	}
	if left, _ := os.ReadDir(filepath.Join(x.options.Dir, "containers")); len(left) > 0 {
		t.Errorf("%s are left", left)
	}
}

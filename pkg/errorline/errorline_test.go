package errorline

import (
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name, log, want string
		exact           bool
	}{
		{"python", "start\nTraceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    import nosuchmodule\nModuleNotFoundError: No module named 'nosuchmodule'", "ModuleNotFoundError: No module named 'nosuchmodule'", true},
		{"python, chained", "Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'x'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"a.py\", line 3\nValueError: bad config", "ValueError: bad config", true},
		{"python, output after it", "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    error()\n    ~~~~~^^\nKeyError: 'x'\nbye", "KeyError: 'x'", true},
		{"python, a warning before it", "WARNING: failed to load the cache\nTraceback (most recent call last):\n  File \"a.py\", line 1\nRuntimeError: CUDA out of memory", "RuntimeError: CUDA out of memory", true},
		{"python, syntax", "  File \"/w/train.py\", line 2\n    x = (\n        ^\nSyntaxError: '(' was never closed", "SyntaxError: '(' was never closed", true},
		{"python, no file", "/usr/bin/python3: can't open file '/w/train.py': [Errno 2] No such file or directory", "/usr/bin/python3: can't open file '/w/train.py': [Errno 2] No such file or directory", true},
		{"python, colours", "\x1b[1;35mTraceback (most recent call last):\x1b[0m\n  File \x1b[35m\"a.py\"\x1b[0m, line 1\n\x1b[1;35mZeroDivisionError\x1b[0m: \x1b[35mdivision by zero\x1b[0m", "ZeroDivisionError: division by zero", true},
		{"torchrun, ranks and a wrapper", "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"t.py\", line 3\n[rank1]: ValueError: loss is nan\nTraceback (most recent call last):\n  File \"run.py\", line 1\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", "ValueError: loss is nan", true},
		{"subprocess", "Traceback (most recent call last):\n  File \"run.py\", line 1\nsubprocess.CalledProcessError: Command '['false']' returned non-zero exit status 1.", "subprocess.CalledProcessError: Command '['false']' returned non-zero exit status 1.", true},
		{"node", "/w/train.js:3\n    throw new TypeError('x is not a function')\n    ^\n\nTypeError: x is not a function\n    at Object.<anonymous> (/w/train.js:3:11)\n    at node:internal/main:28:49\n\nNode.js v22.1.0", "TypeError: x is not a function", true},
		{"node, no module", "node:internal/modules/cjs/loader:1215\n  throw err;\n  ^\n\nError: Cannot find module '/w/train.js'\n    at Module._resolveFilename (node:internal/modules/cjs/loader:1212:15)", "Error: Cannot find module '/w/train.js'", true},
		{"go panic", "2026/11/28 start\npanic: runtime error: index out of range [3] with length 3\n\ngoroutine 1 [running]:\nmain.main()\n\t/w/main.go:5 +0x1d\nexit status 2", "panic: runtime error: index out of range [3] with length 3", true},
		{"go fatal", "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [chan receive]:", "fatal error: all goroutines are asleep - deadlock!", true},
		{"java", "Exception in thread \"main\" java.lang.IllegalStateException: no data\n\tat Train.main(Train.java:5)", "java.lang.IllegalStateException: no data", true},
		{"java, a cause", "Exception in thread \"main\" java.lang.RuntimeException: wrapped\n\tat A.main(A.java:5)\nCaused by: java.io.FileNotFoundException: data.csv (No such file or directory)\n\tat B.read(B.java:7)\n\t... 1 more", "java.io.FileNotFoundException: data.csv (No such file or directory)", true},
		{"java, no class", "Error: Could not find or load main class Train\nCaused by: java.lang.ClassNotFoundException: Train", "java.lang.ClassNotFoundException: Train", true},
		{"r", "Error in library(nosuch) : there is no package called ‘nosuch’\nExecution halted", "Error in library(nosuch) : there is no package called ‘nosuch’", true},
		{"r, two lines", "Error in readRDS(\"model.rds\") :\n  cannot open file 'model.rds': No such file or directory\nExecution halted", "Error in readRDS(\"model.rds\") : cannot open file 'model.rds': No such file or directory", true},
		{"r, stop", "Error: diverged\nExecution halted", "Error: diverged", true},
		{"julia", "ERROR: LoadError: ArgumentError: Package Nosuch not found in current path.\nStacktrace:\n [1] macro expansion\n   @ ./loading.jl:1772 [inlined]\nin expression starting at /w/a.jl:1", "ERROR: LoadError: ArgumentError: Package Nosuch not found in current path.", true},
		{"rust", "thread 'main' panicked at src/main.rs:2:5:\nindex out of bounds: the len is 3 but the index is 9\nnote: run with `RUST_BACKTRACE=1`", "index out of bounds: the len is 3 but the index is 9", true},
		{"rust, before 1.73", "thread 'main' panicked at 'no data', src/main.rs:2:5", "thread 'main' panicked at 'no data', src/main.rs:2:5", true},
		{"c++", "terminate called after throwing an instance of 'std::runtime_error'\n  what():  no data\nAborted (core dumped)", "no data", true},
		{"ruby", "a.rb:1:in 'Integer#/': divided by 0 (ZeroDivisionError)\n\tfrom a.rb:1:in '<main>'", "a.rb:1:in 'Integer#/': divided by 0 (ZeroDivisionError)", true},
		{"perl", "no data at train.pl line 3.", "no data at train.pl line 3.", true},
		{"php", "PHP Fatal error:  Uncaught Exception: no data in /w/a.php:2\nStack trace:\n#0 {main}", "PHP Fatal error:  Uncaught Exception: no data in /w/a.php:2", true},
		{".net", "Unhandled exception. System.InvalidOperationException: no data\n   at Program.Main() in /w/Program.cs:line 3", "System.InvalidOperationException: no data", true},
		{"dash", "sh: 1: nosuchcmd: not found", "sh: 1: nosuchcmd: not found", true},
		{"bash", "bash: line 1: nosuchcmd: command not found", "bash: line 1: nosuchcmd: command not found", true},
		{"bash, a script", "run.sh: line 4: cd: data: No such file or directory", "run.sh: line 4: cd: data: No such file or directory", true},
		{"assertion", "a.out: a.c:3: main: Assertion `n > 0' failed.\nAborted (core dumped)", "a.out: a.c:3: main: Assertion `n > 0' failed.", true},
		{"python, a group", "  + Exception Group Traceback (most recent call last):\n  |   File \"a.py\", line 1, in <module>\n  |     raise ExceptionGroup(\"eg\", [ValueError(1)])\n  | ExceptionGroup: eg (2 sub-exceptions)\n  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    |   File \"a.py\", line 2\n    | ValueError: 1\n    +---------------- 2 ----------------\n    | TypeError: error\n    +------------------------------------", "ExceptionGroup: eg (2 sub-exceptions)", true},
		{"python, nested groups of a rank", "[rank0]:   + Exception Group Traceback (most recent call last):\n[rank0]:   |   File \"a.py\", line 1\n[rank0]:   | ExceptionGroup: outer (1 sub-exception)\n[rank0]:   +-+---------------- 1 ----------------\n[rank0]:     | Exception Group Traceback (most recent call last):\n[rank0]:     | ExceptionGroup: inner (1 sub-exception)\n[rank0]:     +-+---------------- 1 ----------------\n[rank0]:       | ValueError: error", "ExceptionGroup: outer (1 sub-exception)", true},
		{"java, suppressed", "Exception in thread \"main\" java.lang.RuntimeException: outer\n\tat A.main(A.java:5)\n\tSuppressed: java.io.IOException: close failed\n\t\tat A.close(A.java:9)\n\tCaused by: java.lang.Error: full\n\t\tat A.flush(A.java:9)", "java.lang.RuntimeException: outer", true},
		{"java, suppressed and a cause", "Exception in thread \"main\" java.lang.RuntimeException: outer\n\tat A.main(A.java:5)\n\tSuppressed: java.io.IOException: close failed\n\t\tat A.close(A.java:9)\nCaused by: java.lang.Error: full\n\tat A.flush(A.java:9)", "java.lang.Error: full", true},
		{"node, a cause", "Error: outer\n    at main (/w/a.js:1:7)\n    at node:internal/main:28:49 {\n  [cause]: Error: inner\n      at main (/w/a.js:1:20)\n}\n\nNode.js v22.1.0", "Error: inner", true},
		{".net, an inner exception", "Unhandled exception. System.Exception: outer\n ---> System.InvalidOperationException: inner\n   at P.F() in /w/P.cs:line 3\n   --- End of inner exception stack trace ---\n   at P.Main()", "System.InvalidOperationException: inner", true},
		{"python, logging", "2026-01-01 00:00:00,000 WARNING mod: connection refused\nretry failed\n2026-01-01 00:00:00,000 ERROR mod: database refused\n2026-01-01 00:00:00,000 INFO mod: bye", "2026-01-01 00:00:00,000 ERROR mod: database refused", false},
		{"python, basic logging", "WARNING:root:error\nCRITICAL:root:bad\nINFO:root:shut down, 3 failed", "CRITICAL:root:bad", false},
		{"python, logging with the name first", "2026-01-01 00:00:00,000 - app.db - INFO - error rate\n2026-01-01 00:00:00,000 - app.db - ERROR - refused", "2026-01-01 00:00:00,000 - app.db - ERROR - refused", false},
		{"a level in brackets", "[2026-01-01 00:00:00] [INFO] error\n[2026-01-01 00:00:00] [ERROR] bad", "[2026-01-01 00:00:00] [ERROR] bad", false},
		{"a level with a key", "time=2026-01-01T00:00:00Z level=info msg=\"0 of 3 failed\"\ntime=2026-01-01T00:00:00Z level=error msg=bad", "time=2026-01-01T00:00:00Z level=error msg=bad", false},
		{"a level in json", "{\"level\":\"info\",\"msg\":\"failed\"}\n{\"level\":\"error\",\"msg\":\"bad\"}", "{\"level\":\"error\",\"msg\":\"bad\"}", false},
		{"only lower levels", "INFO: 3 requests failed\nWARNING: cannot read the cache\nconfig missing: a.yaml", "", false},
		{"first error line", "0 errors so far\n2026-11-28 ERROR cannot connect to db\nERROR giving up", "2026-11-28 ERROR cannot connect to db", false},
		{"metrics", "epoch 1 error 0.21\n{\"error\":0.05}\nval_error: .5\nerror: 404, no data", "error: 404, no data", false},
		{"a progress bar", "epoch 1\repoch 2\rError: diverged", "Error: diverged", true},
		{"batchctl's lines do not count", "ERROR bad loss\nbatchctl: cannot remove old checkpoints", "ERROR bad loss", false},
		{"no error", "epoch 1\nepoch 2\n", "", false},
		{"a traceback that is cut", "Traceback (most recent call last):\n  File \"a\"", "", false},
	} {
		lines := strings.Split(c.log, "\n")
		f, ok := Find(lines)
		if f.Text != c.want || f.Exact != c.exact || ok != (c.want != "") {
			t.Errorf("%s: got %+v, %t; want %q, exact %t", c.name, f, ok, c.want, c.exact)
		}
		if end := f.Text[max(0, len(f.Text)-8):]; !strings.Contains(Plain(lines[f.Index]), end) {
			t.Errorf("%s: line %d does not end with %q", c.name, f.Index, end)
		}
	}
}

func TestLast(t *testing.T) {
	if got, ok := Last([]string{"a", "\x1b[32m done \x1b[0m", "", "batchctl: cannot remove old checkpoints", " "}); !ok || got != (Found{Text: "done", Index: 1}) {
		t.Errorf("got %+v, %t", got, ok)
	}
	if got, ok := Last([]string{"", "batchctl: x"}); ok {
		t.Errorf("got %+v", got)
	}
}

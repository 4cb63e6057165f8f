package injob

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/objects"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/target"
)

// StageCommand is batchctl stage.
func StageCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:  "stage",
		Usage: "download inputs, run a program, upload outputs",
		UsageText: "batchctl stage -- PROGRAM [ARGUMENT ...]\n" +
			"batchctl stage in\n" +
			"batchctl stage out [EXIT-CODE]\n" +
			"batchctl stage install DIRECTORY",
		Description: cmdline.Help("Jobs with \"inputs\" or \"outputs\" start with stage. Copy batchctl into the image. BATCHCTL_STAGE says what to download and upload. The exit code is the program's. batchctl's own exit codes are: 64 for an invalid document or variable; 66 if an "+
			"input could not be downloaded; 73 if an output could not be uploaded although the program succeeded; 126 and 127 if the program "+
			"cannot be started.\n\nIn a task of Amazon ECS that AWS Batch did not start, ${AWS_BATCH_JOB_ID} in a location is the task's id.\n\nFor your own scripts, in only downloads and out only uploads. EXIT-CODE is the program's (default 0) and decides which outputs to upload. install "+
			"copies batchctl and the machine's CA certificates to a directory, for example to a volume that containers share.",
			"batchctl stage -- python train.py --epochs 10\n"+
				`ENTRYPOINT ["/usr/local/bin/batchctl", "stage", "--"]`+"\n"+
				"batchctl stage install /shared"),
		SkipFlagParsing: true,
		BashComplete: func(c *cli.Context) {
			if c.NArg() == 0 {
				fmt.Fprintln(c.App.Writer, strings.Join([]string{"in", "install", "out"}, "\n"))
			}
		},
		Action: func(c *cli.Context) error {
			args := c.Args().Slice()
			if len(args) > 0 && cmdline.IsHelp(args[0]) || len(args) > 1 && args[0] != "--" && cmdline.IsHelp(args[1]) {
				return showHelp(con, c)
			}
			return stageJob(c.Context, con, args)
		},
	}
}

// stageJob is batchctl stage. The first argument is install, in, out or --.
func stageJob(ctx context.Context, con *term.Console, args []string) error {
	mode := ""
	if len(args) > 0 {
		mode, args = args[0], args[1:]
	}
	switch {
	case mode == "install" && len(args) == 1:
		return install(con, args[0])
	case mode == "in" && len(args) == 0, mode == "out" && len(args) <= 1, mode == "--" && len(args) > 0:
		return runStaged(ctx, con, mode, args)
	case mode == "install":
		return exit.Usage("stage install takes one directory").Try("batchctl stage install DIRECTORY")
	case mode == "in" || mode == "out":
		return exit.Usage("too many arguments after stage %s", mode).
			Try("to run a program of that name: batchctl stage -- %s",
				strings.Join(append([]string{mode}, args...), " "))
	case mode == "" || mode == "--":
		return exit.Usage("stage has no program to run").
			Try("batchctl stage -- PROGRAM [ARGUMENT ...]; see batchctl stage --help")
	}
	return exit.Usage("unknown argument %q", mode).Try("put the program after --: batchctl stage -- %s",
		strings.Join(append([]string{mode}, args...), " "))
}

// runStaged stages in, runs the program and stages out, or does only the part
// that mode names: "in", "out" or "--" for all.
func runStaged(ctx context.Context, con *term.Console, mode string, args []string) error {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, handedOn()...)
	defer signal.Stop(signals)
	dir, err := os.Getwd()
	if err != nil {
		return exit.Fail(stage.ExitInputs, "find the working directory: %v", err)
	}
	environ, measured := os.Environ(), new(measurement)
	if mode == "--" {
		measured = startMeasurement(&environ, false)
	}
	bucket := &objects.Store{Config: func(ctx context.Context) (aws.Config, error) { return containerConfig(ctx, con) }}
	s := &stage.Stager{Environ: environ, Dir: dir, Carrier: bucket, Checkpoints: bucket, Exec: measured.exec,
		Signals: signals,
		Reclaim: func(ctx context.Context) string { return reclaimNotice(ctx, imds()) },
		TaskID:  func(endpoint string) (string, error) { return taskID(ctx, endpoint) },
		Stdin:   con.In, Stdout: con.Out, Stderr: term.Unmasked(con.Err)}
	ctx = context.WithoutCancel(ctx) // signals go to the job's program
	if mode == "--" {
		code, err := s.Run(ctx, args)
		store(ctx, con, measured.finish(con), s.MeasuredAt(), bucket.Put)
		if err != nil {
			return exit.Fail(code, "%v", err)
		}
		return exit.Silent(max(code, measured.exit))
	}
	code := 0
	if len(args) > 0 {
		if code, err = strconv.Atoi(args[0]); err != nil {
			return exit.Usage("%q is not an exit code", args[0]).Try("batchctl stage out $?")
		}
	}
	d, err := s.Document()
	switch {
	case err != nil:
	case d.Checkpoint != nil:
		return exit.Fail(sweep.ExitUsage,
			"a job with a checkpoint cannot run batchctl stage %s: only batchctl stage -- saves its state", mode).
			Try("batchctl stage -- PROGRAM [ARGUMENT ...]")
	case mode == "in":
		err = s.In(ctx, d)
	default:
		err = s.Out(ctx, d, code == 0)
	}
	if f, ok := errors.AsType[*stage.Failure](err); ok {
		return exit.Fail(f.Exit, "%v", f)
	}
	return err
}

// besideName is the name of the CA certificates that install copies into the
// program's directory.
const besideName = "ca-certificates.crt"

// containerConfig returns the AWS configuration of the container's role. If the
// image has no CA certificates, it uses those that install copied into the
// program's directory.
func containerConfig(ctx context.Context, con *term.Console) (aws.Config, error) {
	cfg, err := target.AWSConfig(ctx, con, document.Target{})
	// Your own certificates take precedence (crypto/x509 reads these variables).
	if err != nil || os.Getenv("SSL_CERT_FILE") != "" || os.Getenv("SSL_CERT_DIR") != "" {
		return cfg, err
	}
	client, ok := cfg.HTTPClient.(*awshttp.BuildableClient)
	// An image without certificates has an empty pool, or an error.
	system, poolErr := x509.SystemCertPool()
	if !ok || poolErr == nil && !system.Equal(x509.NewCertPool()) {
		return cfg, nil
	}
	self, err := os.Executable()
	if err != nil {
		return cfg, nil // the first TLS connection then reports the missing certificates
	}
	pem, err := os.ReadFile(filepath.Join(filepath.Dir(self), besideName))
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(pem) {
		return cfg, nil
	}
	cfg.HTTPClient = client.WithTransportOptions(func(t *http.Transport) {
		t.TLSClientConfig = t.TLSClientConfig.Clone()
		t.TLSClientConfig.RootCAs = pool
	})
	return cfg, nil
}

// install copies this program and the CA certificates to a directory, and prints
// their paths.
func install(con *term.Console, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return exit.Fail(exit.NotDone, "find batchctl's own program: %v", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return exit.Fail(exit.NotDone, "create %s: %v", dir, exit.Cause(err)).
			Try("name a directory that this user can write to")
	}
	// The program is copied, not linked: the directory is a volume of another
	// container.
	if err := copyTo(filepath.Join(dir, "batchctl"), 0o755, self); err != nil {
		return err
	}
	if err := con.Print(filepath.Join(dir, "batchctl") + "\n"); err != nil {
		return err
	}
	bundle := Certificates()
	if bundle == "" {
		fmt.Fprintln(con.Err, "no CA certificates found to install; without them, the other image cannot reach S3")
		return nil
	}
	if err := copyTo(filepath.Join(dir, besideName), newfile.ForAll, bundle); err != nil {
		return err
	}
	return con.Print(filepath.Join(dir, besideName) + "\n")
}

// copyTo copies a file completely or not at all.
func copyTo(path string, mode os.FileMode, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return exit.Fail(exit.NotDone, "read %s: %v", from, exit.Cause(err))
	}
	defer f.Close()
	return newfile.Write(path, mode, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}

// Certificates returns the machine's file of CA certificates; "" if there is
// none. The paths are those that Go searches (crypto/x509, root_linux.go and
// root_bsd.go).
func Certificates() string {
	for _, path := range []string{os.Getenv("SSL_CERT_FILE"), "/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
		"/etc/pki/tls/cacert.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem"} {
		if info, err := os.Stat(path); path != "" && err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return path
		}
	}
	return ""
}

package process

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// names returns the members that a process does not get, as text.
func names(c *types.ContainerProperties) string {
	c.Image = aws.String("example.com/team/batchctl-workloads:1.2")
	var all []string
	for _, m := range (Executor{}).Unhonoured(c) {
		all = append(all, m.Name)
	}
	return strings.Join(all, " ")
}

func TestProcessNamesWhatHasNoEffect(t *testing.T) {
	if got := names(&types.ContainerProperties{User: aws.String("12345"), Privileged: aws.Bool(false), Volumes: []types.Volume{{Name: aws.String("v")}}}); got != "user volumes" {
		t.Errorf("got %v, want user and volumes", got)
	}
	if got := names(&types.ContainerProperties{User: aws.String(strconv.Itoa(os.Geteuid()) + ":7")}); got != "" {
		t.Errorf("the user of this process: %v", got)
	}
}

// TestProcessMounts checks that a mount point prevents a start unless its directory is there already.
func TestProcessMounts(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	host := func(path string) types.Volume {
		return types.Volume{Name: aws.String("v"), Host: &types.Host{SourcePath: aws.String(path)}}
	}
	hint := "; run the job in a container: --executor " + attempt.Containers()
	for _, c := range []struct {
		path     string
		volume   types.Volume
		readOnly bool
		want     attempt.Member
	}{
		{dir, host(dir), false, attempt.Member{}},
		{link, host(dir), false, attempt.Member{}},
		{dir, host(dir), true, attempt.Member{Name: "mountPoints.readOnly", Effect: attempt.Differs}},
		{"/no/such", host(dir), false, prevents("mountPoints", "mount point /no/such: a process does not find "+dir+" there")},
		{filepath.Join(dir, "no"), host(dir + "/no/"), false, attempt.Member{Name: "mountPoints", Effect: attempt.Differs}},
		{filepath.Join(dir, "no"), host(filepath.Join(dir, "no")), true, attempt.Member{Name: "mountPoints", Effect: attempt.Differs}},
		{dir, host(filepath.Join(dir, "no")), false, prevents("mountPoints", "mount point "+dir+": "+filepath.Join(dir, "no")+" of volume v does not exist on this machine")},
		{dir, host(""), false, prevents("mountPoints", "mount point "+dir+": a process gets no empty volume there")},
		{dir, types.Volume{Name: aws.String("v")}, false, prevents("mountPoints", "mount point "+dir+": a process gets no empty volume there")},
		{dir, types.Volume{Name: aws.String("other")}, false, attempt.Member{Name: "mountPoints", Effect: attempt.Prevents, Why: "mount point " + dir + ": there is no volume \"v\""}},
		{dir, types.Volume{Name: aws.String("v"), EfsVolumeConfiguration: &types.EFSVolumeConfiguration{FileSystemId: aws.String("fs-1")}}, false,
			attempt.Member{Name: "mountPoints", Effect: attempt.Prevents, Why: "mount point " + dir + ": volume v is in EFS fs-1, which this machine cannot mount; for local runs, give the volume a directory on this machine: host.sourcePath"}},
	} {
		got := (Executor{}).Unhonoured(&types.ContainerProperties{Image: aws.String("batchctl-workloads"), Volumes: []types.Volume{c.volume},
			MountPoints: []types.MountPoint{{ContainerPath: &c.path, SourceVolume: aws.String("v"), ReadOnly: &c.readOnly}}})
		want := []attempt.Member{c.want}
		if c.want.Name == "" {
			want = nil
		}
		if !canWatchMemory {
			want = append(want, attempt.Member{Name: "the memory as a limit"})
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s of %v: %v, want %v", c.path, c.volume, got, want)
		}
		if m := attempt.Prevented(got); m != nil && !strings.HasPrefix(m.Reason(), "ResourceInitializationError: mount point ") || (m != nil) != (c.want.Effect == attempt.Prevents) {
			t.Errorf("%s: prevented by %v", c.path, m)
		}
	}
	for _, c := range []struct {
		linux types.LinuxParameters
		want  string
	}{
		{types.LinuxParameters{Tmpfs: []types.Tmpfs{{ContainerPath: aws.String("/t")}}}, "CannotCreateContainerError: a process does not get a file system in memory at /t" + hint},
		{types.LinuxParameters{Devices: []types.Device{{HostPath: aws.String(dir)}}}, ""},
		{types.LinuxParameters{Devices: []types.Device{{HostPath: aws.String(dir), ContainerPath: aws.String("/dev/x")}}},
			"CannotCreateContainerError: a process does not find device " + dir + " at /dev/x" + hint},
		{types.LinuxParameters{Devices: []types.Device{{HostPath: aws.String("/no/such")}}}, "CannotCreateContainerError: device /no/such does not exist on this machine" + hint},
		{types.LinuxParameters{SharedMemorySize: aws.Int32(64), InitProcessEnabled: aws.Bool(true), MaxSwap: aws.Int32(1), Swappiness: aws.Int32(1)}, ""},
	} {
		got := ""
		if m := attempt.Prevented((Executor{}).Unhonoured(&types.ContainerProperties{LinuxParameters: &c.linux})); m != nil {
			got = m.Reason()
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.linux, got, c.want)
		}
	}
}

// TestLogConfigurationHasAnEffect checks that only the parts of a log configuration are named that have none.
func TestLogConfigurationHasAnEffect(t *testing.T) {
	applied := map[string]string{"awslogs-group": "g", "awslogs-stream-prefix": "p", "awslogs-create-group": "true"}
	more := map[string]string{"awslogs-region": "us-east-1", "awslogs-group": "g", "mode": "non-blocking"}
	secret := []types.Secret{{Name: aws.String("s"), ValueFrom: aws.String("v")}}
	for _, c := range []struct {
		driver  types.LogDriver
		options map[string]string
		secrets []types.Secret
		want    string
	}{
		{types.LogDriverAwslogs, applied, nil, ""},
		{types.LogDriverAwslogs, more, secret, "logConfiguration.options.awslogs-region logConfiguration.options.mode logConfiguration.secretOptions"},
		{types.LogDriverJsonFile, nil, nil, "logConfiguration"},
	} {
		if got := names(&types.ContainerProperties{LogConfiguration: &types.LogConfiguration{LogDriver: c.driver, Options: c.options, SecretOptions: c.secrets}}); got != c.want {
			t.Errorf("%s %v: %v, want %q", c.driver, c.options, got, c.want)
		}
	}
}

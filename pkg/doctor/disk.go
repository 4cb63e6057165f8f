package doctor

import (
	"fmt"
	"path"

	"github.com/batchctl/batchctl/pkg/text"
)

// diskCheck examines the file systems that fill up.
type diskCheck struct {
	host   *probe
	report *findings
	kind   HostKind
}

// checkDisk is the check of the topic disk.
func checkDisk(in *inspection) {
	c := diskCheck{in.host, in.report, in.facts.kind}
	c.check()
}

// check examines the file systems that fill up: the root's and Docker's.
func (c *diskCheck) check() {
	if !c.host.canAsk() {
		c.host.skip("disk", "the files do not belong to a running system")
		return
	}
	root, err := c.host.Ask.Space("/")
	if err != nil {
		c.host.skip("disk", clean(err.Error()))
		return
	}
	c.space("/", root)
	if c.kind == Container {
		return
	}
	d, _, _ := loadDaemon(c.host)
	dir := path.Clean(orElse(d.DataRoot, "/var/lib/docker"))
	// Equal numbers mean that Docker's directory is on the root's file system.
	if s, err := c.host.Ask.Space(dir); err == nil && s != root {
		c.space(dir, s)
	}
}

// space judges a file system. The image of a GPU job is 5 to 20 GiB, and takes twice that while
// it is unpacked.
func (c *diskCheck) space(dir string, s Space) {
	free := fmt.Sprintf("%s of %s free", text.Size(s.FreeBytes), text.Size(s.Bytes))
	evidence := seen("statfs "+dir, free)
	remedy := "a larger volume in the launch template (BlockDeviceMappings); on this host: sudo docker system prune"
	if c.kind == Container {
		remedy = "write to a volume, or give the instances a larger root volume"
	}
	// 1 GiB is too little for any image, 10 GiB for most images with CUDA.
	switch {
	case s.Bytes == 0:
		c.host.skip("disk", dir+" does not report its size")
		return
	case s.FreeBytes < gib:
		c.report.problem("disk-full", "the file system of "+dir+" is full: "+free,
			"images cannot be pulled, and containers end with \"no space left on device\"", remedy, evidence)
	case s.FreeBytes < 10*gib && c.kind != Container || s.FreeBytes < s.Bytes/20:
		c.report.warning("disk-low", "the file system of "+dir+" is almost full: "+free,
			"an image with CUDA is 5 to 20 GiB: the next pull may fail with \"no space left on device\"", remedy,
			evidence)
	default:
		c.report.ok("disk", "the file system of "+dir+" has space: "+free, evidence)
	}
	if s.Files > 0 && s.FreeFiles < s.Files/20 {
		c.report.warning("inodes-low", fmt.Sprintf("the file system of %s has %d of %d inodes left", dir, s.FreeFiles,
			s.Files), "without inodes no file can be created, even if there is space",
			"remove directories with many small files, such as old images: sudo docker system prune", evidence)
	}
}
